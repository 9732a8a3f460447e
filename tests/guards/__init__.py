"""What the guards of tests/check_*.py share."""
