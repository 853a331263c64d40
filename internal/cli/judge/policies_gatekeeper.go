// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
)

// addGatekeeper adds what Gatekeeper's objects become by "evenkeel migrate gatekeeper", and says of each that is left
// out, or judges otherwise than there, why. All are taken together: templates and constraints may be in different
// paths.
func (s *policySet) addGatekeeper(c *policyChoice) error {
	if len(s.gatekeepers) == 0 {
		return nil
	}
	opts := gatekeeper.Options{InMemory: c.kinds != nil} // else it is told that they are those of Kubernetes
	if c.kinds != nil {
		var err error
		if opts.Kinds, err = c.kinds(); err != nil {
			return err
		}
	}
	items := gatekeeper.Migrate(s.gatekeepers, opts)
	for i := range items {
		item := &items[i]
		switch {
		case item.Template != nil:
			s.templates = append(s.templates, item.Template)
		case item.Policy != nil:
			s.add(item.Policy)
		}
		if item.Unjudged {
			s.unmade = append(s.unmade, item.Object)
		}
		if c.stderr != nil {
			tellOfItem(c.stderr(), item)
		}
	}
	if len(s.policies) == 0 {
		return command.Exit(command.ExitFailure, errors.New("of Gatekeeper's objects no policy can be made: give "+
			"constraints that can be taken, with their ConstraintTemplates"))
	}
	return nil
}

// kindsOf are the kinds of objects that are to be judged.
func kindsOf(documents []manifest.Document) func() ([]gatekeeper.Kind, error) {
	return func() (kinds []gatekeeper.Kind, err error) {
		for i := range documents {
			kinds = append(kinds, gatekeeper.KindOf(documents[i].Object))
		}
		return kinds, nil
	}
}

// kindsServed are the kinds that the cluster serves and lists. That some groups don't answer is kept in unlisted, which
// is no reason to leave out the others.
func (c *policyChoice) kindsServed() ([]gatekeeper.Kind, error) {
	_, asked, err := c.connection.Untyped()
	if err != nil {
		return nil, err
	}
	return c.kindsBy(asked)
}

// lister is what lists the kinds of a cluster.
type lister interface {
	ServerPreferredResources() ([]*metav1.APIResourceList, error)
}

func (c *policyChoice) kindsBy(asked lister) (kinds []gatekeeper.Kind, err error) {
	served, err := asked.ServerPreferredResources()
	if err != nil {
		if err = connect.Failure("list the kinds of the cluster", err); len(served) == 0 {
			return nil, err
		}
		c.unlisted = fmt.Errorf("constraints on every kind may mean more than is judged: %w", err)
	}
	return gatekeeper.KindsOf(served), nil
}

// incomplete says what isn't judged of Gatekeeper's constraints, for a report on a cluster.
func (c *policyChoice) incomplete() (said []string) {
	for _, err := range []error{c.unlisted, c.unjudged()} {
		if err != nil {
			said = append(said, err.Error())
		}
	}
	return said
}

// askedOf are the objects of Gatekeeper's that no policy can be made of and that are asked for, "KIND/NAME": what they
// would find isn't found. --only and --skip take their names too.
func (c *policyChoice) askedOf(unmade []string) []string {
	return slices.DeleteFunc(slices.Clone(unmade), func(object string) bool {
		among := func(names []string) bool { return slices.ContainsFunc(namesOf(object), isAmong(names)) }
		return among(c.skip) || len(c.only) > 0 && !among(c.only)
	})
}

func isAmong(names []string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// namesOf are what an object of Gatekeeper's, KIND/NAME, is called.
func namesOf(object string) []string {
	_, name, _ := strings.Cut(object, "/")
	return []string{object, name}
}

// unjudged says that objects go unjudged for want of policies; nil where they don't.
func (c *policyChoice) unjudged() error {
	if len(c.unmade) == 0 {
		return nil
	}
	var names []string
	for _, object := range c.unmade {
		names = append(names, namesOf(object)[1])
	}
	return fmt.Errorf("not everything was judged: of %s no policy can be made, see the warnings; to accept that: "+
		"--skip %s", prose.OneLine(strings.Join(c.unmade, ", ")), prose.OneLine(strings.Join(names, ",")))
}

func tellOfItem(stderr io.Writer, item *gatekeeper.Item) {
	for _, warning := range item.Warnings {
		fmt.Fprintln(stderr, "warning:",
			manifest.Problem{File: item.File, Line: item.Line, Message: prose.OneLine(item.Object + ": " + warning)})
	}
	how, notes := "warning:", strings.Join(item.Notes, "; ")
	switch item.State {
	case gatekeeper.NeedsWork:
		notes = item.Object + " is left out: " + notes
	case gatekeeper.Skipped:
		how, notes = "note:", item.Object+" is left out: "+notes
	case gatekeeper.Migrated:
		if notes == "" {
			return
		}
		how, notes = "note:", item.Object+": "+notes
	}
	fmt.Fprintln(stderr, how, manifest.Problem{File: item.File, Line: item.Line, Message: prose.OneLine(notes)})
}
