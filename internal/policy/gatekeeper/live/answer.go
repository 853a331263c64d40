// SPDX-License-Identifier: Apache-2.0

package live

import (
	"regexp"
	"strings"
)

// refusalPrefix is how the API server begins what Gatekeeper's webhook refuses with.
const refusalPrefix = `admission webhook "validation.gatekeeper.sh" denied the request: `

// Answer is what Gatekeeper's webhook says of one request: messages by the name of the constraint, which two
// constraints of different kinds may share.
type Answer map[string][]string

// ReadAnswer reads Gatekeeper's answer from what a request was refused with, empty where it wasn't, and from its
// warnings. known says which names constraints have: what a bracket in a message names is no constraint.
// It is false for a refusal that isn't Gatekeeper's, which says nothing of what Gatekeeper would have answered.
func ReadAnswer(refusal string, warnings []string, known func(name string) bool) (Answer, bool) {
	answer := Answer{}
	if refusal != "" {
		_, said, theirs := strings.Cut(refusal, refusalPrefix)
		if !theirs {
			return nil, false
		}
		answer.read(said, known)
	}
	for _, warning := range warnings {
		answer.read(warning, known)
	}
	return answer, true
}

// read adds the entries of a text: "[constraint] message" each, on a line of its own, and messages may have several.
func (a Answer) read(text string, known func(string) bool) {
	begins := regexp.MustCompile(`^\[([^\]]+)\] (.*)$`)
	name := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := begins.FindStringSubmatch(line); m != nil && known(m[1]) {
			name = m[1]
			a[name] = append(a[name], m[2])
			continue
		}
		if n := len(a[name]); name != "" && n > 0 {
			a[name][n-1] += "\n" + line
		}
	}
}
