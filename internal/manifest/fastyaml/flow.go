// SPDX-License-Identifier: Apache-2.0

package fastyaml

// plainFlow reads a value in flow style, or a quoted text, within one line.
type plainFlow struct {
	text string
	// at is the offset of what is read next.
	at    int
	depth int
}

func (f *plainFlow) value() (any, bool) {
	if f.depth++; f.depth > maxPlainDepth {
		return nil, false
	}
	defer func() { f.depth-- }()
	switch f.next() {
	case '{':
		return f.mapping()
	case '[':
		return f.list()
	case '"', '\'':
		return f.quoted()
	default:
		return f.scalar()
	}
}

// next skips spaces and gives the character that follows; 0 at the end.
func (f *plainFlow) next() byte {
	for f.at < len(f.text) && f.text[f.at] == ' ' {
		f.at++
	}
	if f.at == len(f.text) {
		return 0
	}
	return f.text[f.at]
}

// more reads the comma before another element, or the end.
func (f *plainFlow) more(end byte) (more, ok bool) {
	c := f.next()
	f.at++
	return c == ',', c == ',' || c == end
}

func (f *plainFlow) mapping() (any, bool) {
	object := map[string]any{}
	f.at++
	if f.next() == '}' {
		f.at++
		return object, true
	}
	for {
		f.next()
		key, rest, isKey := plainKey(f.text[f.at:])
		if _, twice := object[key]; !isKey || twice {
			return nil, false
		}
		f.at = len(f.text) - len(rest)
		value, ok := f.value()
		if !ok {
			return nil, false
		}
		object[key] = value
		if more, ok := f.more('}'); !ok || !more {
			return object, ok
		}
	}
}

func (f *plainFlow) list() (any, bool) {
	elements := []any{}
	f.at++
	if f.next() == ']' {
		f.at++
		return elements, true
	}
	for {
		element, ok := f.value()
		if !ok {
			return nil, false
		}
		elements = append(elements, element)
		if more, ok := f.more(']'); !ok || !more {
			return elements, ok
		}
	}
}

func (f *plainFlow) quoted() (any, bool) {
	value, length, ok := plainQuoted(f.text[f.at:])
	f.at += length
	return value, ok
}

// scalar reads a word without spaces.
func (f *plainFlow) scalar() (any, bool) {
	start := f.at
	for f.at < len(f.text) && (isKeyCharacter(f.text[f.at]) || f.text[f.at] == '+' || f.text[f.at] == '$') {
		f.at++
	}
	word := f.text[start:f.at]
	if word == "" || word == "-" || !startsScalar(word) {
		return nil, false
	}
	return resolvePlain(word)
}
