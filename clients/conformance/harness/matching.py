"""faults: what is wrong with an answer, against what a case wants. Pure."""
import re


def faults(want, got, where="answer"):
    """Sentences, one for each difference. An object wants its members and lets others be; a list wants its
    length; {"matches": REGEX}, {"between": [LOW, HIGH]} and {"contains": TEXT} stand for values.
    """
    if isinstance(want, dict):
        if set(want) == {"matches"}:
            if isinstance(got, str) and re.search(want["matches"], got):
                return []
            return ["%s: expected a match of %r, got %r" % (where, want["matches"], got)]
        if set(want) == {"contains"}:
            return [] if isinstance(got, str) and want["contains"] in got else [
                "%s: expected to contain %r, got %r" % (where, want["contains"], got)]
        if set(want) == {"between"}:
            low, high = want["between"]
            good = isinstance(got, (int, float)) and not isinstance(got, bool) and low <= got <= high
            return [] if good else ["%s: expected from %s to %s, got %r" % (where, low, high, got)]
        if not isinstance(got, dict):
            return ["%s: expected an object, got %r" % (where, got)]
        return [fault for name, value in want.items() for fault in
                (faults(value, got[name], where + "." + name) if name in got else ["%s.%s: is missing" % (where, name)])]
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return ["%s: expected %d elements, got %r" % (where, len(want), got)]
        return [fault for i, value in enumerate(want) for fault in faults(value, got[i], "%s[%d]" % (where, i))]
    return [] if type(want) is type(got) and want == got else ["%s: expected %r, got %r" % (where, want, got)]
