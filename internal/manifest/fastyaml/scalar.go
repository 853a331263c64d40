// SPDX-License-Identifier: Apache-2.0

package fastyaml

import (
	"strconv"
	"strings"
)

// plainScalar reads a scalar without quotes that runs to the end of the line.
func plainScalar(text string) (any, bool) {
	if comment := strings.Index(text, " #"); comment >= 0 {
		text = text[:comment]
	}
	text = strings.TrimRight(text, " ")
	if !startsScalar(text) || text[len(text)-1] == ':' || strings.IndexByte(text, '\t') >= 0 ||
		strings.Contains(text, ": ") {
		return nil, false
	}
	return resolvePlain(text)
}

// startsScalar says that a text begins as a scalar surely does.
func startsScalar(text string) bool {
	c := text[0]
	switch {
	case isLetter(c), isDigit(c):
		return true
	case c == '-':
		return !isItem(text)
	default:
		return strings.IndexByte("_/.$(+~", c) >= 0
	}
}

// resolvePlain gives a scalar its type, by the rules of YAML 1.1.
func resolvePlain(text string) (any, bool) {
	switch c := text[0]; {
	case c == '.':
		return resolveByLibrary(text)
	case isDigit(c) || c == '+' || c == '-':
		return resolveNumber(text)
	case c == '~' || isWord(text):
		return resolveWord(text)
	}
	return text, true
}

func resolveNumber(text string) (any, bool) {
	digits := strings.TrimPrefix(text, "-")
	if whole(digits) {
		number, err := strconv.ParseInt(text, 10, 64)
		return number, err == nil
	}
	// Numbers of every notation, .inf and .nan are written in these characters.
	for i := range len(text) {
		if strings.IndexByte("0123456789abcdefABCDEFxXoOinIN_+-.", text[i]) < 0 {
			return text, true
		}
	}
	return resolveByLibrary(text)
}

// whole says that a text is a whole number in its usual notation, and of a size
// that an int64 holds.
func whole(digits string) bool {
	if digits == "" || len(digits) > 18 || digits[0] == '0' {
		return false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return false
		}
	}
	return true
}

// isWord says that a text is one of the words that mean a value. In each of its
// spellings a word has at most five letters.
func isWord(text string) bool {
	if len(text) > 5 {
		return false
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

func resolveWord(text string) (any, bool) {
	switch text {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return resolveByLibrary(text)
}

// resolveByLibrary asks the library for the type of one scalar.
func resolveByLibrary(text string) (any, bool) {
	value, err := Decode([]byte("- " + text))
	list, _ := value.([]any)
	if err != nil || len(list) != 1 {
		return nil, false
	}
	return list[0], true
}
