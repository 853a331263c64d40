// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalarEnd is where a scalar that begins at start ends.
func (p *page) scalarEnd(n *yaml.Node, start, limit, indent int, flow bool) (int, error) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return p.quoteEnd(start, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return p.quoteEnd(start, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return p.blockEnd(start, indent), nil
	case bytes.HasPrefix(p.text[start:], []byte(n.Value)):
		return start + len(n.Value), nil
	case flow:
		return 0, fmt.Errorf("%w (%q is written over several lines)", ErrByHand, n.Value)
	}
	return p.plainEnd(start, limit), nil
}

func (p *page) quoteEnd(start int, quote byte) (int, error) {
	for at := start + 1; at < len(p.text); at++ {
		switch {
		case p.text[at] == '\\' && quote == '"':
			at++
		case p.text[at] == quote && quote == '\'' && at+1 < len(p.text) && p.text[at+1] == quote:
			at++
		case p.text[at] == quote:
			return at + 1, nil
		}
	}
	return 0, fmt.Errorf("%w (a quote isn't closed)", ErrByHand)
}

// blockEnd is where a literal or folded text ends: at the last line that is indented
// more than what it belongs to. Where its header keeps line breaks, the empty lines
// behind it belong to it.
func (p *page) blockEnd(start, indent int) int {
	end := p.eol(start)
	header := strings.Fields(string(p.text[start:end]))
	keeps := len(header) > 0 && strings.Contains(header[0], "+")
	for at := p.lineEnd(start) + 1; at < len(p.text); at = p.lineEnd(at) + 1 {
		line := p.text[at:p.eol(at)]
		if len(bytes.TrimSpace(line)) == 0 {
			if keeps {
				end = p.eol(at)
			}
			continue
		}
		if len(line)-len(bytes.TrimLeft(line, " ")) <= indent {
			break
		}
		end = p.eol(at)
	}
	return end
}

// plainEnd is where a text without quotes over several lines ends. A comment ends it.
func (p *page) plainEnd(start, limit int) int {
	end := start
	for at := start; at < limit; at = p.lineEnd(at) + 1 {
		line := p.text[at:min(p.eol(at), limit)]
		if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 {
			continue
		} else if trimmed[0] == '#' {
			break
		}
		comment := bytes.Index(line, []byte(" #"))
		if comment >= 0 {
			line = line[:comment]
		}
		end = at + len(bytes.TrimRight(line, " \t"))
		if comment >= 0 {
			break
		}
	}
	return end
}

// closing is behind the bracket that closes what opens at open; from is where its
// last element ends.
func (p *page) closing(open, from int, empty bool) (int, error) {
	brackets := map[byte]byte{'{': '}', '[': ']'}
	end, opens := brackets[p.text[open]]
	if !opens {
		return 0, fmt.Errorf("%w (a mapping in a list has no braces)", ErrByHand)
	}
	if empty {
		from = open + 1
	}
	for at := from; at < len(p.text); at++ {
		switch p.text[at] {
		case end:
			return at + 1, nil
		case '#':
			at = p.lineEnd(at)
		}
	}
	return 0, fmt.Errorf("%w (a bracket isn't closed)", ErrByHand)
}
