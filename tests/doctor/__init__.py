"""The doctor: each check against a home with that illness, and against a healthy one."""
