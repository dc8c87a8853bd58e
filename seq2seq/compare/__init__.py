"""Several systems beside each other: trained where they are missing, scored on one test set, put into one report.

A *run* is one training's folder, or a file of translations; a *system* is the runs that differ in their seed alone.
"""
