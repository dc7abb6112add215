"""How good the plans are, beside the field's: `./dev bench plan [--data DIR]`."""
