// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper/live"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// admission are the flags that have admission compared too.
type admission struct {
	asked bool
	limit int
	rate  float32
}

func (a *admission) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.asked, "admission", false, "also send objects to admission as they are, as dry runs")
	cmd.Flags().IntVar(&a.limit, "admission-limit", 500, "how many objects to send to admission at most")
	cmd.Flags().Float32Var(&a.rate, "admission-rate", 10, "how many objects to send to admission per second")
}

func (a *admission) validate() error {
	if a.limit <= 0 || a.rate <= 0 {
		return command.Exit(command.ExitUsage, errors.New("--admission-limit and --admission-rate must be above 0"))
	}
	return nil
}

// asking sends objects to admission and keeps what differs, by policy. It is nil where that isn't asked for.
type asking struct {
	client   dynamic.Interface
	warnings *heard
	judge    *evaluation
	user     policy.UserInfo
	known    func(name string) bool
	pairs    map[string]pair
	rows     map[string]*admissionRow
	left     int
}

// heard keeps the warnings of the request under way.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) HandleWarningHeader(_ int, _, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, text)
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// begin connects at the rate that was asked for.
func (a *admission) begin(ctx context.Context, v *evaluation, pairs []pair, flags *connect.Flags) (*asking, error) {
	if !a.asked {
		return nil, nil //nolint:nilnil // nothing is asked
	}
	config, err := flags.Config()
	if err != nil {
		return nil, err
	}
	k := &asking{warnings: &heard{}, judge: v, left: a.limit, pairs: map[string]pair{},
		rows: map[string]*admissionRow{}}
	config = rest.CopyConfig(config)
	config.WarningHandler = k.warnings
	config.RateLimiter, config.QPS, config.Burst = nil, a.rate, 1
	if k.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("connect to the cluster: %w", err))
	}
	names := map[string]int{}
	for _, c := range v.estate.source.Constraints {
		names[c.Object.GetName()]++
	}
	k.known = func(name string) bool { return names[name] > 0 }
	for _, p := range pairs {
		k.pairs[p.policy.Name], k.rows[p.policy.Name] = p, &admissionRow{Verdict: live.Equal}
		if why := unanswered(p.constraint, names[p.constraint.Object.GetName()]); why != "" {
			k.rows[p.policy.Name].unknown(why)
			delete(k.pairs, p.policy.Name)
		}
	}
	if k.user, err = whoAmI(ctx, k.client); err != nil {
		return nil, connect.Failure("ask the API server who you are", err)
	}
	return k, nil
}

// unanswered says why what Gatekeeper's webhook answers by a constraint, one of so many of its name, isn't known; empty
// where it is.
func unanswered(c *live.Constraint, namesakes int) string {
	action, err := c.Action()
	switch {
	case err != nil:
		return err.Error()
	case action == v1alpha1.AdmissionAudit:
		return "it only records, and Gatekeeper's webhook answers nothing of that"
	case namesakes > 1:
		return "another constraint has its name, and Gatekeeper's answers name no kind"
	}
	return ""
}

// whoAmI is the user as whom the requests are sent: rules may look at it.
func whoAmI(ctx context.Context, objects dynamic.Interface) (policy.UserInfo, error) {
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1",
		"kind": "SelfSubjectReview"}}
	told, err := objects.Resource(schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1",
		Resource: "selfsubjectreviews"}).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return policy.UserInfo{}, err
	}
	var user policy.UserInfo
	user.Username, _, _ = unstructured.NestedString(told.Object, "status", "userInfo", "username")
	user.UID, _, _ = unstructured.NestedString(told.Object, "status", "userInfo", "uid")
	user.Groups, _, _ = unstructured.NestedStringSlice(told.Object, "status", "userInfo", "groups")
	extra, _, _ := unstructured.NestedMap(told.Object, "status", "userInfo", "extra")
	for key := range extra {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[key], _, _ = unstructured.NestedStringSlice(extra, key)
	}
	return user, nil
}

// each sends an object to admission; nil where nothing is asked.
func (k *asking) each(ctx context.Context) func(listing.Found) error {
	if k == nil {
		return nil
	}
	return func(f listing.Found) error { return k.send(ctx, f) }
}

// of is what came of the requests that concern a constraint; nil where nothing is asked.
func (k *asking) of(p pair) *admissionRow {
	if k == nil {
		return nil
	}
	r := k.rows[p.policy.Name]
	switch {
	case len(r.OnlyGatekeeper)+len(r.OnlyEvenkeel) > 0:
		r.Verdict = live.Different
	case r.Requests == 0 && len(r.Notes) == 0:
		r.unknown("no object concerns it, so that admission wasn't asked")
	}
	return r
}

func (r *admissionRow) unknown(why string) {
	r.Verdict = live.Unknown
	if !slices.Contains(r.Notes, why) {
		r.Notes = append(r.Notes, why)
	}
}

func (k *asking) send(ctx context.Context, f listing.Found) error {
	object := &unstructured.Unstructured{Object: f.Object}
	verdicts := k.judge.snapshot.Evaluate(ctx, k.request(object, f))
	concerned := slices.DeleteFunc(verdicts, func(v verdict) bool {
		_, asked := k.pairs[v.Definition.Name]
		return !asked
	})
	if len(concerned) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if k.left--; k.left < 0 {
		for i := range concerned {
			k.rows[concerned[i].Definition.Name].unknown("more objects concern it than --admission-limit lets be sent")
		}
		return nil
	}
	answer, unsaid := k.ask(ctx, object, f.Resource)
	for i := range concerned {
		row := k.rows[concerned[i].Definition.Name]
		if unsaid != "" {
			row.unknown(live.KeyOf(f.Object).String() + ": " + unsaid)
			continue
		}
		row.Requests++
		row.hold(live.KeyOf(f.Object), &concerned[i],
			answer[k.pairs[concerned[i].Definition.Name].constraint.Object.GetName()])
	}
	return ctx.Err()
}

func (k *asking) request(object *unstructured.Unstructured, f listing.Found) *policy.Request {
	gvk := object.GroupVersionKind()
	kind := policy.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
	return &policy.Request{Operation: policy.Update, Kind: kind, RequestKind: &kind, Resource: f.Resource,
		RequestResource: &policy.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: f.Resource},
		Options: map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions",
			"dryRun": []any{metav1.DryRunAll}},
		Namespace: object.GetNamespace(), Name: object.GetName(),
		Object: f.Object, OldObject: f.Object, NamespaceObject: f.Namespace, UserInfo: k.user, DryRun: true,
		Now: time.Now()}
}

func (k *asking) ask(ctx context.Context, object *unstructured.Unstructured, plural string) (live.Answer,
	string) {
	gvk := object.GroupVersionKind()
	var resource dynamic.ResourceInterface = k.client.Resource(gvk.GroupVersion().WithResource(plural))
	if ns := object.GetNamespace(); ns != "" {
		resource = k.client.Resource(gvk.GroupVersion().WithResource(plural)).Namespace(ns)
	}
	_, err := resource.Update(ctx, object.DeepCopy(), metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	warnings := k.warnings.take()
	refusal := ""
	if err != nil {
		refusal = err.Error()
	}
	answer, theirs := live.ReadAnswer(refusal, warnings, k.known)
	switch {
	case theirs:
		return answer, ""
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, "it was changed meanwhile"
	}
	return nil, "the API server or another webhook refuses the update as it is, so that Gatekeeper's answer isn't " +
		"known: " +
		prose.OneLine(refusal)
}
