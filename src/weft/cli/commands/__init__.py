"""The commands, one module each: ``run(args) -> exit code``; beside them what several share."""
