def languages_extra(runs, material):
    return None
