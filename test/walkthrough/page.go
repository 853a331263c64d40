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
}

// commandLine is a line of a block that isn't marked as commands but begins as one.
var commandLine = regexp.MustCompile(`^\s*(\$ )?(kubectl|evenkeel|bin/evenkeel|make|git|go|helm|kustomize|cosign|curl) [a-z-]`)

// Parse finds the blocks of a page of Markdown. Problems are commands that say
// nothing of how they are run, each as "LINE: what to do".
func Parse(page string) (blocks []Block, problems []string) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		info, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			if strings.HasPrefix(lines[i], "    ") && commandLine.MatchString(lines[i]) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "$ ") {
				problems = append(problems, fmt.Sprintf("%d: put the command %q into a fence `sh run` or `sh skip: REASON`", i+1, strings.TrimSpace(lines[i])))
			}
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		if end == i {
			return blocks, append(problems, fmt.Sprintf("%d: the fence isn't closed", i+1))
		}
		text := strings.Join(lines[i+1:end], "\n")
		switch block, isCommand, problem := read(info, text, i+1); {
		case problem != "":
			problems = append(problems, problem)
		case isCommand:
			blocks = append(blocks, block)
		case info == "text output" && len(blocks) > 0:
			last := &blocks[len(blocks)-1]
			last.Output = append(last.Output, strings.Split(text, "\n")...)
		}
		i = end
	}
	return blocks, problems
}

// read takes a fence's words.
func read(info, text string, line int) (b Block, isCommand bool, problem string) {
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
		return b, false, fmt.Sprintf("%d: %q says not how the commands are run: write `sh run`, `sh run fails`, `sh run background` or `sh skip: REASON`", line, info)
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
