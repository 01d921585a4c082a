"""Command ``python -m glmclf``: its options, tables that it reads and writes, messages in the words of the shell."""
