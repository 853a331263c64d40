// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"
	"maps"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// proposalContext is how many lines around a change a proposal shows, so that
	// one knows which container it is.
	proposalContext = 5
	// proposalPaths is how many changed fields a proposal names at its top.
	proposalPaths = 8
)

// Propose tells what the steps of a fix come to for an object: what is to be
// created or removed, then the Proposal of the object itself.
func Propose(name string, before, after map[string]any, steps []Step, limit int) (string, error) {
	text := ""
	for _, s := range steps {
		switch {
		case s.Type.Creates():
			kind, _ := s.Object["kind"].(string)
			created, err := Proposal("create "+kind, map[string]any{}, s.Object, limit)
			if err != nil {
				return "", err
			}
			text += created
		case s.Type.Removes():
			text += fmt.Sprintf("# %s %s\n", s.Verb(), name)
		}
	}
	if after == nil {
		return prose.ShortenLines(text, limit), nil
	}
	diff, err := Proposal(name, before, after, limit)
	return prose.ShortenLines(policy.SecretsOf(before, after).Redact(text)+diff, limit), err
}

// Proposal is the change from one state of an object to another as a unified
// diff of their YAML, for people who keep the object in another place. The
// changed fields are named at its top. What the server itself keeps is left out,
// values of a Secret are censored. It is at most limit bytes: what is longer is
// cut after a whole line, and says so.
func Proposal(name string, before, after map[string]any, limit int) (string, error) {
	fields := Diff(before, after)
	if len(fields) == 0 {
		return "", nil
	}
	secrets := policy.SecretsOf(before, after)
	before, after = policy.CensorPair(Unmarked(before), Unmarked(after))
	old, err := relevant(before)
	if err != nil {
		return "", err
	}
	proposed, err := relevant(after)
	if err != nil {
		return "", err
	}
	diff, err := udiff.ToUnified(name+" as it is", name+" as the policy wants it", old, udiff.Lines(old, proposed),
		proposalContext)
	if err != nil {
		return "", fmt.Errorf("compare the two states of %s: %w", name, err)
	}
	var text strings.Builder
	for i, f := range fields {
		if i == proposalPaths {
			fmt.Fprintf(&text, "# and %d more\n", len(fields)-proposalPaths)
			break
		}
		fmt.Fprintf(&text, "# %s\n", prose.OneLine(f.Path))
	}
	return prose.ShortenLines(secrets.Redact(text.String()+diff), limit), nil
}

// relevant is the YAML of the parts of an object that people write.
func relevant(object map[string]any) (string, error) {
	out := maps.Clone(object)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp",
			"selfLink"} {
			delete(meta, field)
		}
		out["metadata"] = meta
	}
	raw, err := yaml.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("write the object as YAML: %w", err)
	}
	return string(raw), nil
}
