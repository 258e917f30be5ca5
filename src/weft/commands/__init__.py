"""The commands, one module each: ``run(args) -> exit code``."""
