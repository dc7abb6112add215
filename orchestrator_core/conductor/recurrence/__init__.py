"""Recurrences: loops whose work does not depend on what they carry, or only linearly, in the form
that is cheapest on the device."""
