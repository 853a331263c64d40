// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	type found struct {
		Blocks   []Block
		Problems []string
	}
	for name, tc := range map[string]struct {
		reason string
		page   string
		want   found
	}{
		"each mode is read with its text": {
			reason: "the fence alone says what happens to a command",
			page: "a\n```sh run\nmake build\n```\n```sh run fails\nfalse\n```\n```sh run background\nsleep " +
				"9\n```\n```sh skip: needs a registry\nko build\n```\n",
			want: found{Blocks: []Block{
				{Line: 2, Mode: Run, Text: "make build"}, {Line: 5, Mode: Fails, Text: "false"},
				{Line: 8, Mode: Background, Text: "sleep 9"},
				{Line: 11, Mode: Skip, Reason: "needs a registry", Text: "ko build"},
			}},
		},
		"an output belongs to the command before it": {
			reason: "what a page shows must be what is printed",
			page:   "```sh run\nls\n```\nprints\n```text output\na\nb\n```\n",
			want:   found{Blocks: []Block{{Line: 1, Mode: Run, Text: "ls", Output: []string{"a", "b"}}}},
		},
		"a fence in a list is indented with its item": {
			reason: "the commands are the same",
			page:   "1. first\n\n   ```sh run\n   cat <<EOF\n     two\n   EOF\n   ```\n",
			want:   found{Blocks: []Block{{Line: 3, Mode: Run, Text: "cat <<EOF\n  two\nEOF"}}},
		},
		"a comment may hold commands that only the test needs": {
			reason: "a page begins where its reader stands",
			page:   "<!-- sh run\nmake up\n-->\n<!-- another -->\n",
			want:   found{Blocks: []Block{{Line: 1, Mode: Run, Text: "make up"}}},
		},
		"names of the reader's own are put in their places": {
			reason: "a page says NAME where its reader has a name",
			page: "<!-- sh let NAME=shop PLAN=$plan -->\n```sh run\nkubectl get ns NAME RENAME\n```\n<!-- sh let " +
				"NAME=lab -->\n```sh run\nget PLAN NAME\n```\n",
			want: found{Blocks: []Block{
				{Line: 2, Mode: Run, Text: "kubectl get ns shop RENAME"}, {Line: 6, Mode: Run, Text: "get $plan lab"},
			}},
		},
		"other languages are no commands": {
			reason: "YAML and Rego are tested elsewhere",
			page:   "```yaml\nkind: Policy\n```\n```text\nhello\n```\n",
		},
		"commands that don't say how they are run are a problem": {
			reason: "otherwise a new page would escape the test",
			page:   "```sh\nls\n```\n\n    kubectl get rego\n\n```\nmake demo\n```\n",
			want: found{Problems: []string{
				"1: \"sh\" says not how the commands are run: write `sh run`, `sh run fails`, `sh run background` or " +
					"`sh skip: REASON`",
				"5: put the command \"kubectl get rego\" into a fence `sh run` or `sh skip: REASON`",
				"7: mark the fence as `sh run` or `sh skip: REASON`",
			}},
		},
		"a skipped block needs a reason": {
			reason: "a command that is never run must say why",
			page:   "```sh skip\nls\n```\n",
			want: found{Problems: []string{"1: \"sh skip\" says not how the commands are run: write `sh run`, `sh " +
				"run fails`, `sh run background` or `sh skip: REASON`"}},
		},
		"an open fence is a problem": {
			reason: "the rest of the page would be taken for its text",
			page:   "```sh run\nls\n",
			want:   found{Problems: []string{"1: the fence isn't closed"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got found
			got.Blocks, got.Problems = Parse(tc.page)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Block{})); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		wanted  []string
		printed string
		want    string
	}{
		"all lines in their order, others between them": {
			reason: "a page may leave out lines", wanted: []string{"a", "c"}, printed: "a\nb\nc\n",
		},
		"columns of other widths": {
			reason: "a table's widths depend on names", wanted: []string{"NAME  READY"},
			printed: "NAME      READY   \n",
		},
		"an ellipsis is anything": {
			reason: "hashes and times differ", wanted: []string{"plan-… made … ago", "…"},
			printed: "plan-1a2b made 3s ago\n",
		},
		"a line that isn't printed": {
			reason: "the page would be wrong", wanted: []string{"a", "b"}, printed: "a\n", want: "b",
		},
		"a wrong order": {
			reason: "the page would be wrong", wanted: []string{"b", "a"}, printed: "a\nb\n", want: "a",
		},
		"only a part of a line": {
			reason: "a line is shown as a whole", wanted: []string{"plan"}, printed: "no plan\n", want: "plan",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := Missing(tc.wanted, tc.printed); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
