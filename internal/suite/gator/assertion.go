// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// assertion is what holds of the violations that are found.
type assertion struct {
	// Violations is how many there are: a number, "yes" for one at least, or "no". Default: "yes".
	Violations amount `json:"violations"`
	// Message is a regular expression: only violations count in whose message it is found.
	Message *string `json:"message"`
}

// amount is how many violations there must be: exactly most, or at least one where exact is false.
type amount struct {
	exact bool
	most  int
}

// UnmarshalJSON reads a number, or the texts yes and no.
func (a *amount) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"yes"`, "null":
		*a = amount{}
		return nil
	case `"no"`:
		*a = amount{exact: true}
		return nil
	}
	if err := json.Unmarshal(text, &a.most); err != nil || a.most < 0 {
		return fmt.Errorf(`violations: %s: give a number that isn't negative, "yes" or "no"`, text)
	}
	a.exact = true
	return nil
}

// String says it as people do.
func (a amount) String() string {
	switch {
	case !a.exact:
		return "at least one violation"
	case a.most == 0:
		return "no violation"
	}
	return fmt.Sprintf("%d %s", a.most, prose.Plural(a.most, "violation"))
}

// hold says what was expected and isn't so; empty when all assertions hold.
func hold(assertions []assertion, found []policy.Violation) (expected string, err error) {
	if len(assertions) == 0 {
		return "", errors.New("it has no assertions: gator asks for one at least")
	}
	for _, a := range assertions {
		matching, whose := len(found), ""
		if a.Message != nil {
			message, err := regexp.Compile(*a.Message)
			if err != nil {
				return "", fmt.Errorf("message: %w", err)
			}
			matching, whose = 0, fmt.Sprintf(" whose message matches %q", *a.Message)
			for _, v := range found {
				if message.MatchString(v.Message) {
					matching++
				}
			}
		}
		if a.Violations.exact && matching != a.Violations.most || !a.Violations.exact && matching == 0 {
			return a.Violations.String() + whose, nil
		}
	}
	return "", nil
}

// told are violations as a failure says them.
func told(found []policy.Violation) string {
	if len(found) == 0 {
		return "no violation"
	}
	messages := make([]string, len(found))
	for i, v := range found {
		messages[i] = v.Message
	}
	return fmt.Sprintf("%d: %s", len(found), strings.Join(messages, "\n"))
}
