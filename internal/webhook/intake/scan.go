// SPDX-License-Identifier: Apache-2.0

package intake

import "bytes"

// Size is what a JSON value holds, as it was found without building it.
type Size struct {
	// Containers are the objects and arrays, Leaves all else: keys, strings,
	// numbers and literals.
	Containers, Leaves int
	// Depth is how far the containers are nested.
	Depth int
}

func (s *Size) add(o Size) {
	s.Containers, s.Leaves, s.Depth = s.Containers+o.Containers, s.Leaves+o.Leaves, max(s.Depth, o.Depth)
}

// cursor walks over JSON without recursion and without building anything, so that
// neither depth nor number of values costs memory. It takes for granted that the
// text is JSON: whether it is, the decoder says later.
type cursor struct {
	text []byte
	at   int
}

// token skips white space and says which byte comes next; false at the end.
func (c *cursor) token() (byte, bool) {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b, true
		}
	}
	return 0, false
}

// take skips one byte if it comes next.
func (c *cursor) take(want byte) bool {
	b, ok := c.token()
	if !ok || b != want {
		return false
	}
	c.at++
	return true
}

// value skips one value and returns its text. It is false when the text ends
// before the value does.
func (c *cursor) value(size *Size) ([]byte, bool) {
	if _, ok := c.token(); !ok {
		return nil, false
	}
	start, depth := c.at, 0
	for {
		b, ok := c.token()
		if !ok {
			return nil, false
		}
		switch b {
		case '{', '[':
			c.at++
			depth++
			size.Containers++
			size.Depth = max(size.Depth, depth)
		case '}', ']':
			c.at++
			depth--
		case ',', ':':
			c.at++
		default:
			if !c.leaf(b) {
				return nil, false
			}
			size.Leaves++
		}
		if depth <= 0 {
			return c.text[start:c.at], true
		}
	}
}

// leaf skips a string, a number or a literal that begins with b.
func (c *cursor) leaf(b byte) bool {
	if b == '"' {
		_, ok := c.quoted()
		return ok
	}
	for ; c.at < len(c.text); c.at++ {
		if bytes.IndexByte([]byte(" \t\r\n,:{}[]\""), c.text[c.at]) >= 0 {
			return true
		}
	}
	return false
}

// quoted skips a string and returns what stands between the quotes, with its
// escapes as they are.
func (c *cursor) quoted() ([]byte, bool) {
	c.at++
	start := c.at
	for {
		end := bytes.IndexByte(c.text[c.at:], '"')
		if end < 0 {
			c.at = len(c.text)
			return nil, false
		}
		c.at += end + 1
		escapes := 0
		for i := c.at - 2; i >= start && c.text[i] == '\\'; i-- {
			escapes++
		}
		if escapes%2 == 0 {
			return c.text[start : c.at-1], true
		}
	}
}

// fields calls each for every field of the object that comes next, with the cursor
// at its value, which each must skip. It is false when the text ends before the
// object does, when each is, or when no object comes next.
func (c *cursor) fields(each func(key string, c *cursor) bool) bool {
	if !c.take('{') {
		return false
	}
	for {
		b, ok := c.token()
		switch {
		case !ok:
			return false
		case b == '}':
			c.at++
			return true
		case b == ',':
			c.at++
		case b == '"':
			key, ok := c.quoted()
			if !ok || !c.take(':') || !each(string(key), c) {
				return false
			}
		default:
			return false
		}
	}
}
