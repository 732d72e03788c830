"""`python -m multilingual_math_audit` is the command `math-audit`."""

from multilingual_math_audit.cli import main

if __name__ == "__main__":
    main()
