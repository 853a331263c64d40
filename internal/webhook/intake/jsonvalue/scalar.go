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
func (d *decoder) string() ([]byte, error) {
	d.at++
	for at := d.at; at < len(d.text); at++ {
		switch b := d.text[at]; {
		case b == '"':
			plain := d.text[d.at:at]
			d.at = at + 1
			return plain, nil
		case b == '\\', b >= utf8.RuneSelf:
			return d.unquoted(at)
		case b < ' ':
			d.at = at
			return nil, d.control()
		}
	}
	d.at = len(d.text)
	return nil, d.unexpected("a quote")
}

func (d *decoder) control() error {
	return fmt.Errorf("it has the control character %q at byte %d, which must be written as an escape", d.text[d.at],
		d.at)
}

// unquoted reads the rest of a text with escapes, or with what isn't ASCII, from there on. What isn't UTF-8 becomes
// U+FFFD, byte for byte, and so does half of a surrogate pair.
func (d *decoder) unquoted(at int) ([]byte, error) {
	out := append(d.unescaped[:0], d.text[d.at:at]...)
	defer func() { d.unescaped = out }()
	d.at = at
	for d.at < len(d.text) {
		switch b := d.text[d.at]; {
		case b == '"':
			d.at++
			return out, nil
		case b == '\\':
			d.at++
			r, err := d.escaped()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case b < ' ':
			return nil, d.control()
		case b < utf8.RuneSelf:
			out = append(out, b)
			d.at++
		default:
			r, size := utf8.DecodeRune(d.text[d.at:])
			out = utf8.AppendRune(out, r)
			d.at += size
		}
	}
	return nil, d.unexpected("a quote")
}

// escaped reads what follows a backslash.
func (d *decoder) escaped() (rune, error) {
	if d.at == len(d.text) {
		return 0, d.unexpected("an escape")
	}
	b := d.text[d.at]
	if b == 'u' {
		return d.escapedRune()
	}
	at := bytes.IndexByte([]byte(`"\/bfnrt`), b)
	if at < 0 {
		return 0, d.unexpected("an escape")
	}
	d.at++
	return rune("\"\\/\b\f\n\r\t"[at]), nil
}

// escapedRune reads the four digits of \u, and those of the other half of a pair behind them.
func (d *decoder) escapedRune() (rune, error) {
	d.at++
	r, ok := d.hex()
	if !ok {
		return 0, d.unexpected("four hexadecimal digits")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	before := d.at
	if bytes.HasPrefix(d.text[d.at:], []byte(`\u`)) {
		d.at += 2
		if low, ok := d.hex(); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, nil
			}
		}
	}
	d.at = before
	return utf8.RuneError, nil
}

func (d *decoder) hex() (rune, bool) {
	if len(d.text)-d.at < 4 {
		return 0, false
	}
	var r rune
	for _, b := range d.text[d.at : d.at+4] {
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
		r = r<<4 | rune(b)
	}
	d.at += 4
	return r, true
}

// number reads a number, as RFC 8259 has it.
func (d *decoder) number() (any, error) {
	start := d.at
	if d.next() == '-' {
		d.at++
	}
	switch b := d.next(); {
	case b == '0':
		d.at++
	case '1' <= b && b <= '9':
		d.digits()
	case d.at > start:
		return nil, d.unexpected("a digit")
	default:
		return nil, d.unexpected("a value")
	}
	end := d.at
	if d.next() == '.' {
		d.at++
		if !d.digits() {
			return nil, d.unexpected("a digit")
		}
	}
	if !d.exponent() {
		return nil, d.unexpected("a digit")
	}
	return numberOf(string(d.text[start:d.at]), d.at == end)
}

// exponent skips that of a number, if it has one; false where it has no digit.
func (d *decoder) exponent() bool {
	if b := d.next(); b != 'e' && b != 'E' {
		return true
	}
	d.at++
	if b := d.next(); b == '+' || b == '-' {
		d.at++
	}
	return d.digits()
}

func numberOf(text string, whole bool) (any, error) {
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is no number of 64 bits: %w", text, err)
	}
	return n, nil
}

// next is the byte that comes next; 0 at the end.
func (d *decoder) next() byte {
	if d.at == len(d.text) {
		return 0
	}
	return d.text[d.at]
}

// digits skips digits, and says whether there are any.
func (d *decoder) digits() bool {
	start := d.at
	for b := d.next(); '0' <= b && b <= '9'; b = d.next() {
		d.at++
	}
	return d.at > start
}
