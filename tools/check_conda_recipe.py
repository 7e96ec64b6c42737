#!/usr/bin/env python3
"""Render the conda-forge recipe for each of its systems with rattler-build.

Exits with 1 if a field is unknown or a template cannot be filled in. Does not check that conda-forge has the packages. Needs
py-rattler-build."""

import pathlib

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

RECIPE = pathlib.Path(__file__).resolve().parent.parent / "packaging/conda-forge/recipe.yaml"
SYSTEMS = ("linux-64", "linux-aarch64", "osx-arm64")
COMPILERS = {f"{language}_compiler": [name] for language, name in
             {"c": "gcc", "cxx": "gxx", "rust": "rust"}.items()} | {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.34"]}


def main():
    recipe = Stage0Recipe.from_file(RECIPE)
    for system in SYSTEMS:
        rendered = recipe.render(VariantConfig(COMPILERS), RenderConfig(platform=PlatformConfig(target_platform=system)))
        print(f"{system}: {[str(each.recipe.package.name) + ' ' + str(each.recipe.package.version) for each in rendered]}")


if __name__ == "__main__":
    main()
