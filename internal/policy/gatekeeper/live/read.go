// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// Bounds of what is read.
const (
	page = 500
	// maxObjects is the most objects of one kind that are read: a cluster with more constraints than that isn't
	// moved by a command that holds all of them.
	maxObjects = 20000
)

// gatekeeperGroup ends the names of Gatekeeper's groups.
const gatekeeperGroup = ".gatekeeper.sh"

// Source is what of Gatekeeper's lives in a cluster.
type Source struct {
	// Documents are Gatekeeper's objects, the configuration of its webhook and all CustomResourceDefinitions, with what
	// is exempt in each constraint.
	Documents []manifest.Document
	// Constraints are those among them as they are, sorted by ID.
	Constraints []*Constraint
	// Exemptions are what of Gatekeeper's exemptions no policy can express, with what to do.
	Exemptions []string
	// Kinds are all that the cluster serves and lists, but for those of the groups in Unsaid, which didn't answer.
	Kinds  []gatekeeper.Kind
	Unsaid []string
	// Unasked says that no ValidatingWebhookConfiguration has Gatekeeper's webhook, which refuses nothing then.
	Unasked bool

	estate    *gatekeeper.Estate
	templates map[string]*unstructured.Unstructured       // ConstraintTemplates by the kind of their constraints
	webhooks  []admissionregistrationv1.ValidatingWebhook // Gatekeeper's that enforce constraints
	exempt    []string                                    // namespaces of which Evenkeel's isn't asked
	// everywhere are the namespaces that Config exempts from both admission and audit, sorted.
	everywhere []string
}

// Constraint finds one by KIND/NAME, or by its name alone where no other kind has one of it.
func (s *Source) Constraint(name string) (*Constraint, error) {
	var found []*Constraint
	for _, c := range s.Constraints {
		if c.ID() == name || c.Object.GetName() == name || strings.EqualFold(c.ID(), name) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("there is no constraint %q in the cluster: kubectl get constraints lists them", name)
	}
	return nil, fmt.Errorf("more than one constraint is named %q: give KIND/NAME, for example %s", name,
		found[0].ID())
}

// Audit is what Gatekeeper's audit has last found of a constraint of the source.
func (s *Source) Audit(c *Constraint) Audit {
	var since time.Time
	if template := s.Template(c); template != nil {
		since = changed(template)
	}
	return AuditOf(c, since)
}

// Template is the ConstraintTemplate of a constraint; nil where there is none.
func (s *Source) Template(c *Constraint) *unstructured.Unstructured {
	return s.templates[c.Object.GetKind()]
}

// Options are what decides of what policies are made of the source, beside what people choose.
func (s *Source) Options() gatekeeper.Options {
	return gatekeeper.Options{Kinds: s.Kinds, Served: true, Unsaid: s.Unsaid}
}

// Read reads what of Gatekeeper's lives in a cluster: its objects of every kind but the reports of its replicas, the
// configuration of its webhook, and all CustomResourceDefinitions, page by page. It needs list on them, and on
// namespaces.
func Read(ctx context.Context, objects dynamic.Interface, kinds discovery.DiscoveryInterface) (*Source, error) {
	served, err := kinds.ServerPreferredResources()
	if err := unanswered(err); err != nil {
		return nil, err
	}
	resources, failed := gatekeeperResources(served)
	if failed != nil {
		return nil, failed
	}
	s := &Source{templates: map[string]*unstructured.Unstructured{}, Kinds: gatekeeper.KindsOf(served),
		exempt: exemptBy(nil), Unsaid: unsaid(err)}
	for _, r := range append(resources, resource{Group: "apiextensions.k8s.io",
		Version: "v1", Resource: "customresourcedefinitions"}, webhookConfigurations()) {
		found, err := list(ctx, objects, r, "")
		if err != nil {
			return nil, err
		}
		s.add(r, found)
	}
	slices.SortFunc(s.Constraints, func(a, b *Constraint) int { return strings.Compare(a.ID(), b.ID()) })
	ignored, err := list(ctx, objects, resource{Version: "v1", Resource: "namespaces"}, ignoreLabel)
	if err != nil {
		return nil, err
	}
	s.exemptFrom(ignored)
	s.Unasked = len(s.webhooks) == 0
	return s, nil
}

func webhookConfigurations() resource {
	return admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
}

type resource = schema.GroupVersionResource

// gatekeeperResources are the kinds of Gatekeeper's groups that can be listed, in the versions that the cluster
// prefers.
func gatekeeperResources(served []*metav1.APIResourceList) ([]resource, error) {
	var out []resource
	for _, l := range served {
		version, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil || !read(version.Group) {
			continue
		}
		for i := range l.APIResources {
			r := &l.APIResources[i]
			if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				out = append(out, version.WithResource(r.Name))
			}
		}
	}
	if !slices.ContainsFunc(out, func(r resource) bool { return r.Resource == "constrainttemplates" }) {
		return nil, errors.New("this cluster doesn't serve ConstraintTemplates: Gatekeeper isn't installed in it, or " +
			"another cluster is meant; see --context")
	}
	return out, nil
}

// unanswered is an error of discovery, unless it is of other groups than Gatekeeper's alone.
func unanswered(err error) error {
	if err == nil {
		return nil
	}
	var partial *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &partial) {
		return fmt.Errorf("ask the cluster which kinds it serves: %w", err)
	}
	for group, why := range partial.Groups {
		if strings.HasSuffix(group.Group, gatekeeperGroup) {
			return fmt.Errorf("ask the cluster which kinds of %s it serves: %w", group.Group, why)
		}
	}
	return nil
}

// unsaid are the groups that an error of discovery names.
func unsaid(err error) (groups []string) {
	var partial *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partial) {
		for group := range partial.Groups {
			groups = append(groups, group.Group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// read says whether a group is Gatekeeper's and says what is enforced.
func read(group string) bool {
	return strings.HasSuffix(group, gatekeeperGroup) &&
		!slices.Contains([]string{"status.gatekeeper.sh", "connection.gatekeeper.sh"}, group)
}

func list(ctx context.Context, objects dynamic.Interface, r resource, labels string) ([]unstructured.Unstructured,
	error) {
	var out []unstructured.Unstructured
	opts := metav1.ListOptions{Limit: page, LabelSelector: labels}
	for {
		found, err := objects.Resource(r).List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.GroupResource(), err)
		}
		out = append(out, found.Items...)
		if len(out) > maxObjects {
			return nil, fmt.Errorf("list %s: there are more than %d, which are more than this command takes",
				r.GroupResource(), maxObjects)
		}
		if opts.Continue = found.GetContinue(); opts.Continue == "" {
			return out, nil
		}
	}
}

func (s *Source) add(r resource, found []unstructured.Unstructured) {
	for i := range found {
		object := &found[i]
		if r == webhookConfigurations() {
			if object.GetName() == webhookName {
				if config, err := configuration(object); err == nil {
					s.exempt = exemptBy(config)
				}
			}
			theirs := gatekeeper.Webhooks(object.Object)
			if s.webhooks = append(s.webhooks, theirs...); len(theirs) == 0 {
				continue
			}
		}
		s.Documents = append(s.Documents, manifest.Document{File: "cluster", Object: object.Object})
		switch {
		case r.Group == "constraints"+gatekeeperGroup:
			s.Constraints = append(s.Constraints, &Constraint{Object: object.DeepCopy(), Resource: r})
		case r.Resource == "constrainttemplates":
			kind, _, _ := unstructured.NestedString(object.Object, "spec", "crd", "spec", "names", "kind")
			s.templates[kind] = object
		}
	}
}
