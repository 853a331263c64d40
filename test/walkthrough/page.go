// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mode says what is done with a block of commands.
type Mode string

// The modes. A block without one is no command.
const (
	Run        Mode = "run"
	Fails      Mode = "fails"
	Background Mode = "background"
	Skip       Mode = "skip"
)

// Block is one fenced block of commands.
type Block struct {
	// Line is where its fence stands, from 1.
	Line int
	// Mode says what to do with it, Reason why it is skipped.
	Mode   Mode
	Reason string
	// Text is the commands, Output the lines that they must print.
	Text   string
	Output []string

	page string
}

// commandLine is a line of a block that isn't marked as commands but begins as one.
var commandLine = regexp.MustCompile(
	`^\s*(\$ )?(kubectl|evenkeel|bin/evenkeel|make|git|go|helm|kustomize|cosign|curl) [a-z-]`)

// Parse finds the blocks of a page of Markdown. Problems are commands that say
// nothing of how they are run, each as "LINE: what to do".
func Parse(page string) (blocks []Block, problems []string) {
	lines := strings.Split(page, "\n")
	names := map[string]string{}
	for i := 0; i < len(lines); i++ {
		if called, isLet := strings.CutPrefix(strings.TrimSpace(lines[i]), "<!-- sh let "); isLet {
			for _, pair := range strings.Fields(strings.TrimSuffix(called, "-->")) {
				name, value, _ := strings.Cut(pair, "=")
				names[name] = value
			}
			continue
		}
		info, end, fenced := fence(lines, i)
		if !fenced {
			if strings.HasPrefix(lines[i], "    ") && commandLine.MatchString(lines[i]) &&
				!strings.HasPrefix(strings.TrimSpace(lines[i]), "$ ") {
				problems = append(problems,
					fmt.Sprintf("%d: put the command %q into a fence `sh run` or `sh skip: REASON`", i+1,
						strings.TrimSpace(lines[i])))
			}
			continue
		}
		if end < 0 {
			return blocks, append(problems, fmt.Sprintf("%d: the fence isn't closed", i+1))
		}
		text := unindented(lines[i+1:end], indent(lines[i]))
		switch block, isCommand, problem := command(info, text, i+1); {
		case problem != "":
			problems = append(problems, problem)
		case isCommand:
			block.Text = placed(block.Text, names)
			blocks = append(blocks, block)
		case info == "text output" && len(blocks) > 0:
			last := &blocks[len(blocks)-1]
			last.Output = append(last.Output, strings.Split(text, "\n")...)
		}
		i = end
	}
	return blocks, problems
}

// fence says whether a fence begins at line i, with its words and the line of its
// end. One in a comment is for commands that only the test needs.
func fence(lines []string, i int) (info string, end int, begins bool) {
	closing := strings.Repeat(" ", indent(lines[i])) + "```"
	info, begins = strings.CutPrefix(lines[i], closing)
	if !begins {
		info, begins = strings.CutPrefix(lines[i], "<!-- ")
		begins = begins && strings.HasPrefix(info, "sh run")
		closing = "-->"
	}
	if !begins {
		return "", 0, false
	}
	after := slices.Index(lines[i+1:], closing)
	if after < 0 {
		return info, -1, true
	}
	return info, i + 1 + after, true
}

// indent is the number of spaces before a line's text: a list's fences have some.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func unindented(lines []string, by int) string {
	text := make([]string, len(lines))
	for i, line := range lines {
		text[i] = line[min(by, indent(line)):]
	}
	return strings.Join(text, "\n")
}

// readersName is what a page writes where its reader has a name of their own.
var readersName = regexp.MustCompile(`\b[A-Z]{3,}\b`)

// placed puts values in the places of the reader's names.
func placed(text string, names map[string]string) string {
	return readersName.ReplaceAllStringFunc(text, func(name string) string {
		if value, known := names[name]; known {
			return value
		}
		return name
	})
}

// command takes a fence's words.
func command(info, text string, line int) (b Block, isCommand bool, problem string) {
	language, rest, _ := strings.Cut(info, " ")
	if !slices.Contains([]string{"sh", "bash", "shell", "console"}, language) {
		if language == "" && commandLine.MatchString(text) && !strings.HasPrefix(strings.TrimSpace(text), "$ ") {
			return b, false, fmt.Sprintf("%d: mark the fence as `sh run` or `sh skip: REASON`", line)
		}
		return b, false, ""
	}
	b = Block{Line: line, Text: text}
	reason, skipped := strings.CutPrefix(rest, "skip: ")
	switch {
	case skipped:
		b.Mode, b.Reason = Skip, reason
	case rest == "run":
		b.Mode = Run
	case rest == "run fails":
		b.Mode = Fails
	case rest == "run background":
		b.Mode = Background
	default:
		return b, false, fmt.Sprintf("%d: %q says not how the commands are run: write `sh run`, `sh run fails`, `sh "+
			"run background` or `sh skip: REASON`", line, info)
	}
	return b, true, ""
}

// Missing gives the first of the wanted lines that isn't printed, after those
// before it; false when all are.
func Missing(wanted []string, printed string) (string, bool) {
	lines := strings.Split(printed, "\n")
	for _, want := range wanted {
		if strings.TrimSpace(want) == "" || strings.TrimSpace(want) == "…" {
			continue
		}
		at := slices.IndexFunc(lines, pattern(want).MatchString)
		if at < 0 {
			return want, true
		}
		lines = lines[at+1:]
	}
	return "", false
}

// pattern matches a printed line: spaces count as one, "…" is anything.
func pattern(want string) *regexp.Regexp {
	var parts []string
	for part := range strings.SplitSeq(want, "…") {
		var words []string
		for word := range strings.SplitSeq(part, " ") {
			if word != "" {
				words = append(words, regexp.QuoteMeta(word))
			}
		}
		quoted := strings.Join(words, `\s+`)
		if strings.HasPrefix(part, " ") {
			quoted = `\s*` + quoted
		}
		if strings.HasSuffix(part, " ") {
			quoted += `\s*`
		}
		parts = append(parts, quoted)
	}
	return regexp.MustCompile(`^\s*` + strings.Join(parts, ".*") + `\s*$`)
}
