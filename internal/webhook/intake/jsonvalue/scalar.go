// SPDX-License-Identifier: Apache-2.0

package jsonvalue

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a text in quotes. What it returns lasts until the next one is read, or what is decoded changes.
func (r *reader) string() ([]byte, error) {
	r.at++
	for at := r.at; at < len(r.text); at++ {
		switch b := r.text[at]; {
		case b == '"':
			plain := r.text[r.at:at]
			r.at = at + 1
			return plain, nil
		case b == '\\', b >= utf8.RuneSelf:
			return r.unquoted(at)
		case b < ' ':
			r.at = at
			return nil, r.control()
		}
	}
	r.at = len(r.text)
	return nil, r.unexpected("a quote")
}

func (r *reader) control() error {
	return fmt.Errorf("it has the control character %q at byte %d, which must be written as an escape", r.text[r.at],
		r.at)
}

// unquoted reads the rest of a text with escapes, or with what isn't ASCII, from there on. What isn't UTF-8 becomes
// U+FFFD, byte for byte, and so does half of a surrogate pair.
func (r *reader) unquoted(at int) ([]byte, error) {
	out := append(r.unescaped[:0], r.text[r.at:at]...)
	defer func() { r.unescaped = out }()
	r.at = at
	for r.at < len(r.text) {
		switch b := r.text[r.at]; {
		case b == '"':
			r.at++
			return out, nil
		case b == '\\':
			r.at++
			char, err := r.escaped()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, char)
		case b < ' ':
			return nil, r.control()
		case b < utf8.RuneSelf:
			out = append(out, b)
			r.at++
		default:
			char, size := utf8.DecodeRune(r.text[r.at:])
			out = utf8.AppendRune(out, char)
			r.at += size
		}
	}
	return nil, r.unexpected("a quote")
}

// escaped reads what follows a backslash.
func (r *reader) escaped() (rune, error) {
	if r.at == len(r.text) {
		return 0, r.unexpected("an escape")
	}
	b := r.text[r.at]
	if b == 'u' {
		return r.escapedRune()
	}
	at := bytes.IndexByte([]byte(`"\/bfnrt`), b)
	if at < 0 {
		return 0, r.unexpected("an escape")
	}
	r.at++
	return rune("\"\\/\b\f\n\r\t"[at]), nil
}

// escapedRune reads the four digits of \u, and those of the other half of a pair behind them.
func (r *reader) escapedRune() (rune, error) {
	r.at++
	char, ok := r.hex()
	if !ok {
		return 0, r.unexpected("four hexadecimal digits")
	}
	if !utf16.IsSurrogate(char) {
		return char, nil
	}
	before := r.at
	if bytes.HasPrefix(r.text[r.at:], []byte(`\u`)) {
		r.at += 2
		if low, ok := r.hex(); ok {
			if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
				return pair, nil
			}
		}
	}
	r.at = before
	return utf8.RuneError, nil
}

func (r *reader) hex() (rune, bool) {
	if len(r.text)-r.at < 4 {
		return 0, false
	}
	var char rune
	for _, b := range r.text[r.at : r.at+4] {
		switch {
		case '0' <= b && b <= '9':
			b -= '0'
		case 'a' <= b && b <= 'f':
			b -= 'a' - 10
		case 'A' <= b && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		char = char<<4 | rune(b)
	}
	r.at += 4
	return char, true
}

// number reads a number, as RFC 8259 has it.
func (r *reader) number() (any, error) {
	start := r.at
	if r.next() == '-' {
		r.at++
	}
	switch b := r.next(); {
	case b == '0':
		r.at++
	case '1' <= b && b <= '9':
		r.digits()
	case r.at > start:
		return nil, r.unexpected("a digit")
	default:
		return nil, r.unexpected("a value")
	}
	end := r.at
	if r.next() == '.' {
		r.at++
		if !r.digits() {
			return nil, r.unexpected("a digit")
		}
	}
	if !r.exponent() {
		return nil, r.unexpected("a digit")
	}
	return numberOf(string(r.text[start:r.at]), r.at == end)
}

// exponent skips that of a number, if it has one; false where it has no digit.
func (r *reader) exponent() bool {
	if b := r.next(); b != 'e' && b != 'E' {
		return true
	}
	r.at++
	if b := r.next(); b == '+' || b == '-' {
		r.at++
	}
	return r.digits()
}

func numberOf(text string, whole bool) (any, error) {
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("it has a number that is too large for 64 bits: %.40s", text)
	}
	return n, nil
}

// next is the byte that comes next; 0 at the end.
func (r *reader) next() byte {
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

// digits skips digits, and says whether there are any.
func (r *reader) digits() bool {
	start := r.at
	for b := r.next(); '0' <= b && b <= '9'; b = r.next() {
		r.at++
	}
	return r.at > start
}
