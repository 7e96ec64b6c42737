#!/usr/bin/env python3
"""Write tests/data/stacks/<case>/: tiny encoder-decoders, text and image towers, image and audio encoders.

    python tools/golden_encoder_decoders_towers.py [CASE...]

Each folder has a checkpoint saved by transformers, random except for its gains, and golden.json. The latter has the singular values
of the attention and MLP matrices of every stack in float64. They are taken from the modules of the loaded model and split into
heads here. Needs numpy, torch, transformers and safetensors, but tests do not.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
import transformers as hf
from safetensors import safe_open

DATA = Path(__file__).resolve().parent.parent / "tests/data/stacks"
DIGITS = 10

TWO_SIDES = dict(d_model=16, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2,
                 encoder_ffn_dim=24, decoder_ffn_dim=20, vocab_size=24, max_position_embeddings=12, pad_token_id=1)
T5 = dict(vocab_size=24, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_decoder_layers=3, num_heads=4)
IMAGES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, image_size=16, patch_size=8)
TEXTS = dict(hidden_size=12, num_hidden_layers=3, num_attention_heads=2, intermediate_size=20, vocab_size=24,
             max_position_embeddings=12, eos_token_id=2, bos_token_id=1, pad_token_id=0)
SMALL_TEXTS = TEXTS | dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1)
SMALL_IMAGES = IMAGES | dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2)
SMALL_PATCHES = {key: value for key, value in SMALL_IMAGES.items() if key != "image_size"} | dict(num_patches=4)
SOUND = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, vocab_size=8, conv_dim=(4, 4),
             conv_stride=(2, 2), conv_kernel=(3, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=4,
             num_conv_pos_embedding_groups=2)
WITHOUT_RATIO = {key: value for key, value in IMAGES.items() if key != "intermediate_size"}
WHISPER = {key: value for key, value in TWO_SIDES.items() if key != "max_position_embeddings"} | dict(
    num_mel_bins=4, max_source_positions=10, max_target_positions=8, bos_token_id=0, eos_token_id=2, decoder_start_token_id=0)

# Paths of each stack's layers, and of the matrices in a layer.
T5_MLP = ("layer.{last}.DenseReluDense.wi_0", "layer.{last}.DenseReluDense.wi_1", "layer.{last}.DenseReluDense.wo")
PLAIN_T5_MLP = (None, "layer.{last}.DenseReluDense.wi", "layer.{last}.DenseReluDense.wo")


def t5_stacks(mlp):
    attention = [f"{{}}.{name}" for name in "qkvo"]
    own, cross = ([part.format(place) for part in attention] for place in ("layer.0.SelfAttention", "layer.1.EncDecAttention"))
    encoder, decoder = ([path and path.format(last=last) for path in mlp] for last in (1, 2))
    return {"encoder": ("encoder.block", own, encoder), "decoder": ("decoder.block", own, decoder),
            "cross": ("decoder.block", cross, None)}


def projections(place, ending="_proj", output="out_proj"):
    return [f"{place}.q{ending}", f"{place}.k{ending}", f"{place}.v{ending}", f"{place}.{output}"]


BART_MLP = (None, "fc1", "fc2")
BART = {"encoder": ("model.encoder.layers", projections("self_attn"), BART_MLP),
        "decoder": ("model.decoder.layers", projections("self_attn"), BART_MLP),
        "cross": ("model.decoder.layers", projections("encoder_attn"), None)}
LED = {side: (place.replace("model.", "led.", 1), *rest) for side, (place, *rest) in BART.items()} | {
    "encoder": ("led.encoder.layers", [f"self_attn.longformer_self_attn.{name}" for name in ("query", "key", "value")] + ["self_attn.output"],
                BART_MLP)}
TOWER = (projections("self_attn"), (None, "mlp.fc1", "mlp.fc2"))
IN_TOWER = ("encoder.layers", *TOWER)  # a tower that is a model of its own
TOWERS = {"text": ("text_model.encoder.layers", *TOWER), "vision": ("vision_model.encoder.layers", *TOWER)}
IMAGE = projections("attention", output="o_proj")
TWO_MATRICES, GATED = (None, "mlp.fc1", "mlp.fc2"), ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
DATA2VEC = ([f"attention.attention.{name}" for name in ("query", "key", "value")] + ["attention.output.dense"],
            (None, "intermediate.dense", "output.dense"))
BERT = ([f"attention.self.{name}" for name in ("query", "key", "value")] + ["attention.output.dense"],
        (None, "intermediate.dense", "output.dense"))
BERT_CROSS = ([path.replace("attention", "crossattention", 1) for path in BERT[0]], None)
SMALL_BLIP_TEXTS = dict(hidden_size=8, encoder_hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
                        vocab_size=24, max_position_embeddings=12, bos_token_id=1, eos_token_id=2, sep_token_id=2, pad_token_id=0)


def fused(place, output):
    """Return the paths of thirds of a fused projection, see weight_of()."""
    return [f"{place}.qkv[{third}]" for third in range(3)] + [f"{place}.{output}"]


BLIP = ("encoder.layers", fused("self_attn", "projection"), TWO_MATRICES)
SAM = (fused("attn", "proj"), (None, "mlp.lin1", "mlp.lin2"))
SMALL_SAM = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, image_size=16, patch_size=4, window_size=3,
                 global_attn_indexes=[1], mlp_dim=12, output_channels=4)
SWIN = dict(image_size=16, patch_size=2, embed_dim=4, depths=[2, 1], num_heads=[1, 2], window_size=4, mlp_ratio=2.0)
PADDED_SWIN = SWIN | dict(image_size=[20, 14], window_size=3, depths=[2, 2], mlp_ratio=1.5, use_absolute_embeddings=True,
                          qkv_bias=False, hidden_act="relu", layer_norm_eps=1e-3)
SEGFORMER = dict(num_encoder_blocks=2, depths=[1, 2], sr_ratios=[2, 1], hidden_sizes=[4, 12], patch_sizes=[7, 3], strides=[4, 2],
                 num_attention_heads=[1, 3], mlp_ratios=[2, 3], decoder_hidden_size=4)
DETR = dict(d_model=8, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4, encoder_ffn_dim=12,
            decoder_ffn_dim=10, num_queries=3, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
            backbone_config=hf.ResNetConfig(embedding_size=2, hidden_sizes=[2, 4], depths=[1, 1], out_features=["stage2"],
                                            layer_type="basic"))
DETR_STACKS = {"encoder": ("encoder.layers", projections("self_attn", output="o_proj"), TWO_MATRICES),
               "decoder": ("decoder.layers", projections("self_attn", output="o_proj"), TWO_MATRICES),
               "cross": ("decoder.layers", projections("encoder_attn", output="o_proj"), None)}
OLD_DETR_STACKS = {"encoder": ("encoder.layers", projections("self_attn"), BART_MLP),
                   "decoder": ("decoder.layers", projections("self_attn"), BART_MLP),
                   "cross": ("decoder.layers", projections("encoder_attn"), None)}
CONTENTS = ["q_content_proj", "k_content_proj", "v_proj", "o_proj"]
CONDITIONAL_DETR_STACKS = {"encoder": DETR_STACKS["encoder"],
                           "decoder": ("decoder.layers", [f"self_attn.{name}" for name in CONTENTS], TWO_MATRICES),
                           "cross": ("decoder.layers", [f"encoder_attn.{name}" for name in CONTENTS], None)}
WAV2VEC2 = (projections("attention"), (None, "feed_forward.intermediate_dense", "feed_forward.output_dense"))

MOONSHINE = dict(hidden_size=24, encoder_num_hidden_layers=1, decoder_num_hidden_layers=2, encoder_num_attention_heads=2,
                 decoder_num_attention_heads=2, intermediate_size=20, vocab_size=24, max_position_embeddings=12)
MOONSHINE_STACKS = {"encoder": ("model.encoder.layers", projections("self_attn", output="o_proj"), TWO_MATRICES),
                    "decoder": ("model.decoder.layers", projections("self_attn", output="o_proj"),
                                ("mlp.fc1[1/2]", "mlp.fc1[0/2]", "mlp.fc2")),
                    "cross": ("model.decoder.layers", projections("encoder_attn", output="o_proj"), None)}
CONFORMER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, vocab_size=8,
                 feature_projection_input_dim=6, conv_depthwise_kernel_size=5, left_max_position_embeddings=3,
                 right_max_position_embeddings=2)
CONFORMER_STACK = {"": ("wav2vec2_bert.encoder.layers", [f"self_attn.linear_{name}" for name in ("q", "k", "v", "out")],
                         (None, "ffn2.intermediate_dense", "ffn2.output_dense"))}
DONUT = dict(encoder=SWIN | dict(model_type="donut-swin", depths=[1], num_heads=[2], hidden_size=4),
             decoder=dict(model_type="mbart", is_decoder=True, add_cross_attention=True, d_model=8, decoder_layers=1,
                          decoder_attention_heads=2, decoder_ffn_dim=12, encoder_layers=1, vocab_size=24, max_position_embeddings=12))
DECODER_OF_TWO = "decoder.model.decoder.layers"
DONUT_STACKS = {"encoder": ("encoder.encoder.layers.*.blocks", *BERT), "decoder": (DECODER_OF_TWO, projections("self_attn"), BART_MLP),
                "cross": (DECODER_OF_TWO, projections("encoder_attn"), None)}
TROCR = dict(encoder=SMALL_IMAGES | dict(model_type="vit"),
             decoder=dict(model_type="trocr", is_decoder=True, add_cross_attention=True, d_model=12, decoder_layers=1,
                          decoder_attention_heads=2, decoder_ffn_dim=10, vocab_size=24, max_position_embeddings=12,
                          cross_attention_hidden_size=8))
TROCR_STACKS = DONUT_STACKS | {"encoder": ("encoder.layers", IMAGE, TWO_MATRICES)}
SMALL_BERT = dict(model_type="bert", hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, vocab_size=24,
                  max_position_embeddings=12)
BERT_DECODER = "decoder.bert.encoder.layer"

CASES = {
    "t5": (hf.T5ForConditionalGeneration, hf.T5Config, T5, t5_stacks(PLAIN_T5_MLP)),
    "t5-gated": (hf.T5ForConditionalGeneration, hf.T5Config,
                 T5 | dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False), t5_stacks(T5_MLP)),
    "mt5": (hf.MT5ForConditionalGeneration, hf.MT5Config, T5, t5_stacks(T5_MLP)),
    "umt5": (hf.UMT5ForConditionalGeneration, hf.UMT5Config, T5, t5_stacks(T5_MLP)),
    "bart": (hf.BartForConditionalGeneration, hf.BartConfig, TWO_SIDES, BART),
    "led": (hf.LEDForConditionalGeneration, hf.LEDConfig, {key: size for key, size in TWO_SIDES.items() if key != "max_position_embeddings"} | dict(
        max_encoder_position_embeddings=16, max_decoder_position_embeddings=12, attention_window=4), LED),
    "mbart": (hf.MBartForConditionalGeneration, hf.MBartConfig, TWO_SIDES | dict(scale_embedding=True), BART),
    "marian": (hf.MarianMTModel, hf.MarianConfig, TWO_SIDES | dict(decoder_start_token_id=1), BART),
    "pegasus": (hf.PegasusForConditionalGeneration, hf.PegasusConfig, TWO_SIDES, BART),
    "m2m_100": (hf.M2M100ForConditionalGeneration, hf.M2M100Config, TWO_SIDES, BART),
    "whisper": (hf.WhisperForConditionalGeneration, hf.WhisperConfig, WHISPER, BART),
    "clip": (hf.CLIPModel, hf.CLIPConfig, dict(text_config=TEXTS, vision_config=IMAGES, projection_dim=6), TOWERS),
    "siglip": (hf.SiglipModel, hf.SiglipConfig, dict(text_config=TEXTS | dict(projection_size=12), vision_config=IMAGES),
               TOWERS),
    "siglip-compared": (hf.SiglipModel, hf.SiglipConfig,
                        dict(text_config=TEXTS | dict(projection_size=16), vision_config=IMAGES), TOWERS),
    "siglip2": (hf.Siglip2Model, hf.Siglip2Config, dict(text_config=SMALL_TEXTS | dict(projection_size=8), vision_config=SMALL_PATCHES),
                TOWERS),
    "clip_text_model": (hf.CLIPTextModel, hf.CLIPTextConfig, SMALL_TEXTS, {"": IN_TOWER}),
    "clip_text_model-projected": (hf.CLIPTextModelWithProjection, hf.CLIPTextConfig, SMALL_TEXTS | dict(projection_dim=6),
                                  {"": TOWERS["text"]}),
    "clip_vision_model": (hf.CLIPVisionModel, hf.CLIPVisionConfig, SMALL_IMAGES, {"": IN_TOWER}),
    "clip_vision_model-projected": (hf.CLIPVisionModelWithProjection, hf.CLIPVisionConfig, SMALL_IMAGES | dict(projection_dim=6),
                                    {"": TOWERS["vision"]}),
    "siglip_text_model": (hf.SiglipTextModel, hf.SiglipTextConfig, SMALL_TEXTS | dict(projection_size=6), {"": IN_TOWER}),
    "siglip_vision_model": (hf.SiglipVisionModel, hf.SiglipVisionConfig, SMALL_IMAGES, {"": IN_TOWER}),
    "siglip2_text_model": (hf.Siglip2TextModel, hf.Siglip2TextConfig, SMALL_TEXTS | dict(projection_size=6), {"": IN_TOWER}),
    "siglip2_vision_model": (hf.Siglip2VisionModel, hf.Siglip2VisionConfig, SMALL_PATCHES, {"": IN_TOWER}),
    "vit": (hf.ViTForImageClassification, hf.ViTConfig, IMAGES, {"": ("vit.layers", IMAGE, TWO_MATRICES)}),
    "deit": (hf.DeiTForImageClassification, hf.DeiTConfig, IMAGES, {"": ("deit.layers", IMAGE, TWO_MATRICES)}),
    "dinov2": (hf.Dinov2Model, hf.Dinov2Config, WITHOUT_RATIO | dict(mlp_ratio=2), {"": ("encoder.layer", IMAGE, TWO_MATRICES)}),
    "dinov2-swiglu": (hf.Dinov2Model, hf.Dinov2Config, WITHOUT_RATIO | dict(use_swiglu_ffn=True),
                      {"": ("encoder.layer", IMAGE, GATED)}),
    "dinov2_with_registers": (hf.Dinov2WithRegistersModel, hf.Dinov2WithRegistersConfig,
                              WITHOUT_RATIO | dict(num_register_tokens=3), {"": ("encoder.layer", IMAGE, TWO_MATRICES)}),
    "dinov3_vit": (hf.DINOv3ViTModel, hf.DINOv3ViTConfig, IMAGES,
                   {"": ("model.layer", IMAGE, (None, "mlp.up_proj", "mlp.down_proj"))}),
    "dinov3_vit-gated": (hf.DINOv3ViTModel, hf.DINOv3ViTConfig, IMAGES | dict(use_gated_mlp=True), {"": ("model.layer", IMAGE, GATED)}),
    "vit-no-bias": (hf.ViTModel, hf.ViTConfig, IMAGES | dict(qkv_bias=False, hidden_act="gelu_pytorch_tanh"),
                    {"": ("layers", IMAGE, TWO_MATRICES)}),
    "deit-taught": (hf.DeiTForImageClassificationWithTeacher, hf.DeiTConfig, IMAGES, {"": ("deit.layers", IMAGE, TWO_MATRICES)}),
    "dinov2-labels": (hf.Dinov2ForImageClassification, hf.Dinov2Config, WITHOUT_RATIO | dict(mlp_ratio=2),
                      {"": ("dinov2.encoder.layer", IMAGE, TWO_MATRICES)}),
    "dinov2_with_registers-labels": (hf.Dinov2WithRegistersForImageClassification, hf.Dinov2WithRegistersConfig,
                                     WITHOUT_RATIO | dict(num_register_tokens=3, use_swiglu_ffn=True),
                                     {"": ("dinov2_with_registers.encoder.layer", IMAGE, GATED)}),
    "dinov3_vit-registers": (hf.DINOv3ViTModel, hf.DINOv3ViTConfig, IMAGES | dict(num_register_tokens=4, key_bias=True, rope_theta=50.0),
                             {"": ("model.layer", IMAGE, (None, "mlp.up_proj", "mlp.down_proj"))}),
    "beit": (hf.BeitForImageClassification, hf.BeitConfig, SMALL_IMAGES | dict(use_relative_position_bias=True, num_hidden_layers=2),
             {"": ("beit.layers", IMAGE, TWO_MATRICES)}),
    "beit-pretrained": (hf.BeitModel, hf.BeitConfig,
                        SMALL_IMAGES | dict(use_shared_relative_position_bias=True, use_absolute_position_embeddings=True,
                                            use_mask_token=True), {"": ("layers", IMAGE, TWO_MATRICES)}),
    "beit-class-token": (hf.BeitForImageClassification, hf.BeitConfig,
                         SMALL_IMAGES | dict(use_mean_pooling=False, layer_scale_init_value=0.0, use_absolute_position_embeddings=True),
                         {"": ("beit.layers", IMAGE, TWO_MATRICES)}),
    "data2vec-vision": (hf.Data2VecVisionForImageClassification, hf.Data2VecVisionConfig,
                        SMALL_IMAGES | dict(use_relative_position_bias=True, layer_scale_init_value=1e-4),
                        {"": ("data2vec_vision.encoder.layer", *DATA2VEC)}),
    "vit_mae": (hf.ViTMAEModel, hf.ViTMAEConfig, SMALL_IMAGES, {"": ("layers", IMAGE, TWO_MATRICES)}),
    "vit_msn": (hf.ViTMSNModel, hf.ViTMSNConfig, SMALL_IMAGES, {"": ("layers", IMAGE, TWO_MATRICES)}),
    "videomae": (hf.VideoMAEModel, hf.VideoMAEConfig, SMALL_IMAGES | dict(num_frames=4), {"": ("encoder.layer", *DATA2VEC)}),
    "blip": (hf.BlipForConditionalGeneration, hf.BlipConfig, dict(text_config=SMALL_BLIP_TEXTS, vision_config=SMALL_IMAGES),
             {"text": ("text_decoder.bert.encoder.layer", *BERT), "vision": (f"vision_model.{BLIP[0]}", *BLIP[1:]),
              "cross": ("text_decoder.bert.encoder.layer", *BERT_CROSS)}),
    "blip_vision_model": (hf.BlipVisionModel, hf.BlipVisionConfig, SMALL_IMAGES, {"": BLIP}),
    "blip_text_model": (hf.BlipTextModel, hf.BlipTextConfig, SMALL_BLIP_TEXTS, {"": ("encoder.layer", *BERT)}),
    "swin": (hf.SwinForImageClassification, hf.SwinConfig, SWIN, {"": ("swin.encoder.layers.*.blocks", IMAGE, TWO_MATRICES)}),
    "segformer": (hf.SegformerForImageClassification, hf.SegformerConfig, SEGFORMER,
                  {"": ("segformer.stages.*.blocks", IMAGE, TWO_MATRICES)}),
    "sam_vision_model": (hf.SamVisionModel, hf.SamVisionConfig, SMALL_SAM, {"vision": ("vision_encoder.layers", *SAM)}),
    "sam_vision_model-plain": (hf.SamVisionModel, hf.SamVisionConfig,
                               SMALL_SAM | dict(window_size=2, use_abs_pos=False, use_rel_pos=False, qkv_bias=False, hidden_act="relu",
                                                layer_norm_eps=1e-3), {"vision": ("vision_encoder.layers", *SAM)}),
    "swin-padded": (hf.SwinModel, hf.SwinConfig, PADDED_SWIN, {"": ("encoder.layers.*.blocks", IMAGE, TWO_MATRICES)}),
    "swinv2": (hf.Swinv2ForImageClassification, hf.Swinv2Config, SWIN, {"": ("swinv2.encoder.layers.*.blocks", *BERT)}),
    "swinv2-padded": (hf.Swinv2Model, hf.Swinv2Config, PADDED_SWIN | dict(pretrained_window_sizes=[5, 0], use_absolute_embeddings=False),
                      {"": ("encoder.layers.*.blocks", *BERT)}),
    "donut-swin": (hf.DonutSwinForImageClassification, hf.DonutSwinConfig, SWIN, {"": ("donut.encoder.layers.*.blocks", *BERT)}),
    "detr": (hf.DetrModel, hf.DetrConfig, DETR, DETR_STACKS),
    "table-transformer": (hf.TableTransformerModel, hf.TableTransformerConfig, DETR, OLD_DETR_STACKS),
    "conditional_detr": (hf.ConditionalDetrModel, hf.ConditionalDetrConfig, DETR, CONDITIONAL_DETR_STACKS),
    "wav2vec2": (hf.Wav2Vec2ForCTC, hf.Wav2Vec2Config, SOUND, {"": ("wav2vec2.encoder.layers", *WAV2VEC2)}),
    "wav2vec2-stable": (hf.Wav2Vec2ForCTC, hf.Wav2Vec2Config,
                        SOUND | dict(do_stable_layer_norm=True, feat_extract_norm="layer"),
                        {"": ("wav2vec2.encoder.layers", *WAV2VEC2)}),
    "wavlm": (hf.WavLMForCTC, hf.WavLMConfig, SOUND | dict(num_buckets=12, max_bucket_distance=9),
              {"": ("wavlm.encoder.layers", *WAV2VEC2)}),
    "wavlm-stable": (hf.WavLMModel, hf.WavLMConfig, SOUND | dict(do_stable_layer_norm=True, feat_extract_norm="layer", conv_bias=True),
                     {"": ("encoder.layers", *WAV2VEC2)}),
    "wav2vec2-bert": (hf.Wav2Vec2BertForCTC, hf.Wav2Vec2BertConfig, CONFORMER, CONFORMER_STACK),
    "wav2vec2-bert-plain": (hf.Wav2Vec2BertForCTC, hf.Wav2Vec2BertConfig,
                            CONFORMER | dict(position_embeddings_type=None, hidden_act="gelu"), CONFORMER_STACK),
    "wav2vec2-bert-relative": (hf.Wav2Vec2BertForCTC, hf.Wav2Vec2BertConfig,
                               CONFORMER | dict(position_embeddings_type="relative", num_hidden_layers=1), CONFORMER_STACK),
    "moonshine": (hf.MoonshineForConditionalGeneration, hf.MoonshineConfig, MOONSHINE, MOONSHINE_STACKS),
    "trocr": (hf.VisionEncoderDecoderModel, hf.VisionEncoderDecoderConfig, TROCR, TROCR_STACKS),
    "trocr-causal": (hf.TrOCRForCausalLM, hf.TrOCRConfig, TROCR["decoder"],
                     {"": ("model.decoder.layers", projections("self_attn"), BART_MLP)}),
    "encoder-decoder": (hf.EncoderDecoderModel, hf.EncoderDecoderConfig,
                        dict(encoder=SMALL_BERT, decoder=SMALL_BERT | dict(is_decoder=True, add_cross_attention=True)),
                        {"encoder": ("encoder.encoder.layer", *BERT), "decoder": (BERT_DECODER, *BERT), "cross": (BERT_DECODER, *BERT_CROSS)}),
    "speech-encoder-decoder": (hf.SpeechEncoderDecoderModel, hf.SpeechEncoderDecoderConfig,
                               dict(encoder=SOUND | dict(model_type="wavlm", num_hidden_layers=1), decoder=DONUT["decoder"]),
                               DONUT_STACKS | {"encoder": ("encoder.encoder.layers", *WAV2VEC2)}),
    "donut": (hf.VisionEncoderDecoderModel, hf.VisionEncoderDecoderConfig, DONUT, DONUT_STACKS),
    "hubert": (hf.HubertModel, hf.HubertConfig, SOUND, {"": ("encoder.layers", *WAV2VEC2)}),
}


def layers_of(model, path):
    """Return the layers of a stack, of all stages if the path has a `*`."""
    if "*" not in path:
        return model.get_submodule(path)
    stages, inner = path.split(".*.")
    return [layer for stage in model.get_submodule(stages) for layer in stage.get_submodule(inner)]


def weight_of(layer, path):
    """Return a weight, or a third of its rows, `qkv[1]`, or the first half: `fc1[0/2]`."""
    if path.endswith("]"):
        path, part = path[:-1].split("[")
        index, count = (part.split("/") + ["3"])[:2]
        return np.split(weight_of(layer, path), int(count))[int(index)]
    return layer.get_submodule(path).weight.detach().numpy()


def heads_of(layer, attention):
    """Return the number of heads according to the attention module."""
    module = layer.get_submodule(attention[0].rsplit(".", 1)[0])
    names = ("num_heads", "n_heads", "num_attention_heads")
    counts = [getattr(module, name) for name in names if hasattr(module, name)]
    return counts[0] if counts else len(weight_of(layer, attention[0])) // module.head_dim


def values(matrix, most=None):
    return [float(f"{value:.{DIGITS}g}") for value in np.linalg.svd(matrix, compute_uv=False)[:most]]


def rows_of(stack, number, layer, attention, mlp):
    q, k, v, o = (weight_of(layer, path) for path in attention)
    heads = heads_of(layer, attention)
    rows = []

    def add(name, head, matrix, most=None):
        rows.append({"stack": stack, "layer": number, "matrix": name, "head": head, "values": values(matrix, most)})

    cuts = {"q": np.split(q, heads), "k": np.split(k, heads), "v": np.split(v, heads), "o": np.split(o, heads, axis=1)}
    for name, whole in zip("qkvo", (q, k, v, o)):
        add(name, None, whole)
        for head, part in enumerate(cuts[name]):
            add(name, head, part)
    inner = len(cuts["q"][0])
    for head in range(heads):
        add("qk", head, cuts["q"][head].T @ cuts["k"][head], inner)
        add("ov", head, cuts["o"][head] @ cuts["v"][head], inner)
    for name, path in zip(("gate", "up", "down"), mlp or ()):
        if path:
            add(name, None, weight_of(layer, path))
    return rows


def make(case):
    model_class, config_class, sizes, stacks = CASES[case]
    torch.manual_seed(len(case))
    model = model_class(config_class(**sizes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3) if parameter.dim() > 1 else parameter.uniform_(0.5, 1.5)
    folder = DATA / case
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = model_class.from_pretrained(folder).double().eval()
    rows = []
    for stack, (path, attention, mlp) in stacks.items():
        for number, layer in enumerate(layers_of(model, path)):
            rows += rows_of(stack, number, layer, attention, mlp)
    text = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    with safe_open(folder / "model.safetensors", "np") as saved:  # transformers does not save computed sinusoidal positions
        absent = [name for name, _ in model.named_parameters() if "embed_positions" in name and name not in saved.keys()]
    parameters = sum(parameter.numel() for name, parameter in model.named_parameters() if name not in absent)
    (folder / "golden.json").write_text(f'{{"parameters": {parameters}, "rows": [\n{text}]}}\n')
    print(f"{case}: {len(rows)} rows")


if __name__ == "__main__":
    hf.logging.set_verbosity_error()
    for case in sys.argv[1:] or CASES:
        make(case)
