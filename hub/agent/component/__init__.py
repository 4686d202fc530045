"""Components of this part: each makes a piece of it, starts and stops it, and puts changes into force.

The rules themselves are in the folders beside; nothing of the part imports this.
"""
