// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/policies"
)

// policyChoice says by which policies a command judges: those of the library in
// the binary, unless directories, files or the cluster are named.
type policyChoice struct {
	paths      []string
	cluster    bool
	only, skip []string
	severity   string
	rego       command.RegoTree
	// connection is where --in-force reads; the command's own connection flags.
	connection *connect.Flags
	// stderr takes what policies in Rego say that can hardly be meant; nil for nowhere.
	stderr func() io.Writer
	// offline: the command asks a cluster for the policies in force only, and none without --in-force.
	offline bool
	// leftOut is told of policies of the cluster that aren't in force as they are written, which are left out then, and
	// of its waivers that waive nothing; nil: they are an error.
	leftOut func(error)
	// kinds are all that Gatekeeper's constraints on every kind mean, beside those of Kubernetes; nil when they aren't
	// known, which is told.
	kinds func() ([]gatekeeper.Kind, error)
	// tried are policies that are never left out, beside those in force in the cluster.
	tried []*v1alpha1.ClusterRegoPolicy
	// namespaces are those of the cluster by name, once load has asked it.
	namespaces map[string]map[string]any
	// unmade are the constraints of Gatekeeper's that are asked for, and that no policy can be made of, once the
	// policies were read.
	unmade []string
	// unlisted says that the cluster didn't tell all of its kinds, where they were asked for.
	unlisted error
}

// AddFlags adds the flags with their defaults.
func (c *policyChoice) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&c.paths, "policy", "p", nil, "a directory of policies in Rego, or a file or directory of YAML "+
		"with ClusterRegoPolicy, RegoTemplate, RemediationStrategy, Waiver and ClusterWaiver objects, or with "+
		"Gatekeeper's ConstraintTemplates and constraints; may be given many times (default: the library in the "+
		"binary)")
	f.BoolVar(&c.cluster, "in-force", false, "take the policies and waivers that are in force in the cluster")
	f.StringSliceVar(&c.only, "only", nil, "ask these policies only, by name")
	f.StringSliceVar(&c.skip, "skip", nil, "leave these policies out, by name")
	f.StringVar(&c.severity, "severity", "",
		"ask policies of this severity or above only: Critical, High, Medium or Low")
	c.rego.AddFlags(f)
}

// policySet is what a choice comes to.
type policySet struct {
	policies []*v1alpha1.ClusterRegoPolicy
	// templates are those that the policies may name.
	templates []*v1alpha1.RegoTemplate
	// strategies are those that the policies may refer to.
	strategies []*v1alpha1.RemediationStrategy
	waivers    []v1alpha1.AnyWaiver
	// overrides are those of the cluster, where they were asked for: explain tells of them.
	overrides []v1alpha1.PolicyOverride
	// gatekeepers are objects of Gatekeeper's that policies are to be made of, wherever they stand.
	gatekeepers []manifest.Document
	// unmade are those of them that would have objects judged, KIND/NAME, and that no policy can be made of.
	unmade []string
	// namespaces are those of the cluster, by name, where it was asked.
	namespaces map[string]map[string]any
}

// load reads the policies that the flags choose and puts them in force, with the
// waivers that come with them and further ones.
func (c *policyChoice) load(ctx context.Context, further ...v1alpha1.AnyWaiver) (*catalog.Snapshot, error) {
	set, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	c.namespaces = set.namespaces
	set.waivers = append(set.waivers, further...)
	return c.enforce(set)
}

// read reads the policies that the flags choose.
func (c *policyChoice) read(ctx context.Context) (*policySet, error) {
	if c.cluster && len(c.paths) > 0 {
		return nil, command.Exit(command.ExitUsage,
			errors.New("--in-force and --policy exclude each other: give one of them"))
	}
	if c.rego.Given() && len(c.paths) == 0 {
		return nil, command.Exit(command.ExitUsage,
			errors.New("--lib is of policies in Rego: name their directory by --policy"))
	}
	if err := c.asksWhatIsNamed(); err != nil {
		return nil, err
	}
	set := &policySet{}
	var err error
	switch {
	case c.cluster:
		err = set.addCluster(ctx, c.connection)
	case len(c.paths) > 0:
		set, err = c.given(ctx)
	default:
		var shipped []*v1alpha1.ClusterRegoPolicy
		shipped, err = directory.Load(policies.FS, ".")
		set.add(shipped...)
	}
	if err != nil {
		return nil, err
	}
	return set, c.filter(set)
}

// asksWhatIsNamed refuses a cluster that nobody would ask. --cluster meant the policies in force once, and takes a
// value as kubectl's does: a switch or a path behind it would be taken for a name, and files be fixed by other rules.
func (c *policyChoice) asksWhatIsNamed() error {
	if c.cluster || c.connection == nil || c.connection.ClusterName == nil || *c.connection.ClusterName == "" {
		return nil
	}
	if !c.offline {
		if name := *c.connection.ClusterName; command.NoCluster(name) {
			return command.Exit(command.ExitUsage, fmt.Errorf("--cluster names a cluster of the kubeconfig, and took "+
				"%q for its name: for the policies in force there give --in-force", name))
		}
		return nil
	}
	return command.Exit(command.ExitUsage, fmt.Errorf("--cluster %q names a cluster of the kubeconfig, and no cluster "+
		"is asked: add --in-force to judge by the policies in force there, or leave --cluster out",
		*c.connection.ClusterName))
}

// filter takes out the policies that aren't asked for.
func (c *policyChoice) filter(set *policySet) error {
	seen, err := set.names()
	if err != nil {
		return err
	}
	c.unmade = c.askedOf(set.unmade)
	for _, name := range slices.Concat(c.only, c.skip) {
		if !seen[name] {
			return command.Exit(command.ExitUsage,
				fmt.Errorf("there is no policy %q: there are %s%s", name, strings.Join(sortedNames(set.policies), ", "),
					prose.DidYouMean(name, sortedNames(set.policies))))
		}
	}
	least, err := command.SeverityRank(c.severity)
	if err != nil {
		return err
	}
	set.policies = slices.DeleteFunc(set.policies, func(p *v1alpha1.ClusterRegoPolicy) bool {
		rank, _ := command.SeverityRank(string(p.Spec.Severity))
		return slices.Contains(c.skip, p.Name) || rank > least || len(c.only) > 0 && !slices.Contains(c.only, p.Name)
	})
	if len(set.policies) == 0 {
		return command.Exit(command.ExitUsage,
			errors.New("no policy is left to judge by: loosen --only, --skip or --severity"))
	}
	return nil
}

// names are those by which --only and --skip may choose.
func (s *policySet) names() (map[string]bool, error) {
	seen := map[string]bool{}
	for _, p := range s.policies {
		if seen[p.Name] {
			return nil, command.Exit(command.ExitUsage,
				fmt.Errorf("two policies are named %q: leave one of them out", p.Name))
		}
		seen[p.Name] = true
	}
	for _, object := range s.unmade {
		for _, name := range namesOf(object) {
			seen[name] = true
		}
	}
	return seen, nil
}

func sortedNames(policies []*v1alpha1.ClusterRegoPolicy) []string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

// enforce compiles the policies.
func (c *policyChoice) enforce(set *policySet) (*catalog.Snapshot, error) {
	force := catalog.New(catalog.Options{})
	for _, t := range set.templates {
		_ = force.SetTemplate(t) // what is wrong with it, the policies say that name it
	}
	var errs []error
	for _, s := range set.strategies {
		if err := force.SetStrategy(s); err != nil {
			errs = append(errs, fmt.Errorf("strategy %s: %w", s.Name, err))
		}
	}
	for _, p := range set.policies {
		errs = append(errs, c.set(force, p))
	}
	for _, w := range set.waivers {
		if err := force.SetWaiver(w); err != nil {
			errs = append(errs, c.unless(c.cluster, fmt.Errorf("waiver %s: %w",
				prose.OneLine(client.ObjectKeyFromObject(w).String()), err)))
		}
	}
	for i := range set.overrides {
		force.SetOverride(&set.overrides[i])
	}
	if err := errors.Join(errs...); err != nil {
		return nil, command.Exit(command.ExitFailure, err)
	}
	force.MarkComplete()
	return force.Snapshot(), nil
}

// set puts one policy in force, or leaves it out where that is told.
func (c *policyChoice) set(force *catalog.Catalog, p *v1alpha1.ClusterRegoPolicy) error {
	err := force.Set(p)
	if err == nil {
		return nil
	}
	err = c.unless(c.cluster || c.tried != nil && !slices.Contains(c.tried, p),
		fmt.Errorf("policy %s: %w", p.Name, err))
	if err == nil {
		force.Delete(p.Name)
	}
	return err
}

// unless gives an error, unless it is of something of the cluster, and somebody is told that it is left out.
func (c *policyChoice) unless(ofCluster bool, err error) error {
	if !ofCluster || c.leftOut == nil {
		return err
	}
	c.leftOut(err)
	return nil
}
