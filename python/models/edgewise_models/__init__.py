# SPDX-License-Identifier: Apache-2.0
"""Translation models, each in the folder of its name. `edgewise.Translator` and the programs of the package edgewise find
them by these names, such as en-de."""
