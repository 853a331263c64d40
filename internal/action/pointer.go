// SPDX-License-Identifier: Apache-2.0

package action

import (
	"strconv"
	"strings"
)

// Lookup finds the value at a JSON Pointer (RFC 6901) in a JSON tree.
func Lookup(doc any, pointer string) (any, bool) {
	current := doc
	for _, token := range Tokens(pointer) {
		next, found := child(current, token)
		if !found {
			return nil, false
		}
		current = next
	}
	return current, true
}

// Tokens splits a JSON Pointer into its unescaped reference tokens.
func Tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

// Join appends a token to a JSON Pointer, escaped.
func Join(pointer, token string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

func child(node any, token string) (any, bool) {
	switch n := node.(type) {
	case map[string]any:
		value, found := n[token]
		return value, found
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(n) {
			return nil, false
		}
		return n[i], true
	default:
		return nil, false
	}
}
