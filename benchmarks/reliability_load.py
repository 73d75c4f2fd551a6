def measure(*_: object) -> str: return ""
