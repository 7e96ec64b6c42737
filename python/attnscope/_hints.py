"""What to use instead of names that people guess: attributes of other libraries, and ours."""

_SIZES = ("n_layers", "num_layers", "num_hidden_layers", "n_heads", "num_heads", "hidden_size", "d_model", "d_head")
OF_MODELS = {
    **dict.fromkeys((*_SIZES, "cfg", "config"), "model.info, a dict such as model.info['layers']"),
    **dict.fromkeys(("summary", "describe", "facts"), "model.info"),
    **dict.fromkeys(("W_Q", "W_K", "W_V", "W_O", "W_in", "W_out"), "model.matrix('W_Q', layer=0)"),
    **dict.fromkeys(("QK", "OV"), "model.matrix('OV', layer=0, head=0)"),
    **dict.fromkeys(
        ("W_E", "W_U", "state_dict", "parameters", "named_parameters", "tensors"),
        "attnscope.info(model), which lists the tensors",
    ),
    **dict.fromkeys(("layers", "heads", "modules", "blocks"), "layers= of a command, such as model.spectrum(layers=0)"),
    **dict.fromkeys(
        ("tokenizer", "tokenize", "encode", "to_tokens", "to_str_tokens"),
        "model.predict(text, save=True), with .tokens and .arrays['tokens']",
    ),
    **dict.fromkeys(
        ("forward", "run_with_cache", "hidden_states", "logits"),
        "model.predict(text, save=True).arrays",
    ),
    "generate": "model.predict(text, generate=20)",
    "run_with_hooks": "model.ablate(text)",
    "logit_lens": "model.lens(text)",
    "entropy": "model.attention(text)['entropy']",
    **dict.fromkeys(("svd", "spectra", "analyze", "singular_values", "stable_rank"), "model.spectrum(values=True)"),
    **dict.fromkeys(("head_view", "neuron_view", "view"), "model.attention(text).view(layer=0, head=0)"),
    **dict.fromkeys(("model_view", "grid"), "model.attention(text).grid()"),
    **dict.fromkeys(("maps", "attentions"), "model.attention(text, maps=True).arrays['attentions']"),
    **dict.fromkeys(("close", "to", "eval", "cuda", "half", "float"), "the model as it is: it needs no such call"),
    **dict.fromkeys(("plot", "show"), "the plot of a table, such as model.spectrum().plot()"),
    "export": "attnscope.export",
}

_OF_PANDAS = (
    "agg", "apply", "corr", "describe", "drop", "groupby", "group_by", "hist", "iloc", "loc", "max", "mean",
    "melt", "min", "nlargest", "nsmallest", "pivot", "pivot_table", "query", "rename", "sample", "sort", "sort_values",
    "std", "sum", "to_excel", "to_latex", "to_markdown", "unique", "value_counts", "with_columns",
)  # fmt: skip
OF_TABLES = {
    **{name: f"table.to_pandas().{name}" for name in _OF_PANDAS},
    **dict.fromkeys(("sort", "unique"), "table.to_pandas() and its methods"),
    **dict.fromkeys(("group_by", "with_columns"), "table.to_polars() and its methods"),
    **dict.fromkeys(
        ("rows", "data", "records", "to_list", "to_dict", "to_dicts", "to_records", "iterrows", "iter_rows"),
        "list(table), whose rows are dicts",
    ),
    **dict.fromkeys(("df", "to_df", "to_dataframe", "pandas", "items", "values"), "table.to_pandas()"),
    **dict.fromkeys(("select", "keys"), "table[['layer', 'head']], with the names in table.columns"),
    **dict.fromkeys(("T", "numpy", "tolist", "dtype", "ndim"), "np.asarray(table) of one matrix, or a column table[name]"),
    **dict.fromkeys(("save", "write"), "table.to_csv(path), to_json(path) or to_parquet(path)"),
    **dict.fromkeys(("maps", "attentions", "attention"), "table.arrays['attentions'], with maps=True in the call"),
    **dict.fromkeys(("logits", "hidden_states"), "table.arrays, with save=True in the call"),
    **dict.fromkeys(("show", "display"), "table in a notebook, or print(table)"),
    **dict.fromkeys(("head_view", "neuron_view"), "table.view(layer=0, head=0)"),
    "model_view": "table.grid()",
    **dict.fromkeys(("chart", "bar", "line", "scatter", "heatmap"), "table.plot(name), with the names in table.charts"),
}

OF_PACKAGE = {
    **dict.fromkeys(("load", "load_model", "from_pretrained", "read", "AutoModel"), "attnscope.open(path)"),
    **dict.fromkeys(("head_view", "neuron_view"), "attnscope.attention(model, text).view(layer=0, head=0)"),
    "model_view": "attnscope.attention(model, text).grid()",
    **dict.fromkeys(("svd", "WeightWatcher", "analyze"), "attnscope.spectrum(model, values=True)"),
    "entropy": "attnscope.attention(model, text)['entropy']",
    "logit_lens": "attnscope.lens(model, text)",
    "generate": "attnscope.predict(model, text, generate=20)",
    "concat": "pandas.concat([table.to_pandas(), ...])",
    "version": "attnscope.__version__",
}
