// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/frameworks/constraint/pkg/types"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// finding is one violation that the audit finds.
type finding struct {
	Object     string `json:"object"` // KIND NAMESPACE/NAME
	Constraint string `json:"constraint"`
	Message    string `json:"message"`
}

// verdict is the verdict on one review, as hack/bench/internal/own has it.
type verdict struct {
	Allowed    bool     `json:"allowed"`
	Violations []string `json:"violations"`
}

// answer is the answer to a question: verdicts, findings or nanoseconds.
func (g *engine) answer(ctx context.Context, q question) (any, error) {
	var known []*unstructured.Unstructured
	if q.Known != "" {
		var err error
		if known, err = read(q.Known); err != nil {
			return nil, err
		}
		if err := g.know(ctx, known); err != nil {
			return nil, err
		}
	}
	switch {
	case q.Reviews != "":
		text, err := os.ReadFile(q.Reviews)
		if err != nil {
			return nil, err
		}
		var verdicts []verdict
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		return measured(q.Time, len(lines), &verdicts, func() error {
			verdicts, err = g.verdicts(ctx, lines)
			return err
		})
	case q.List != "":
		text, err := os.ReadFile(q.List)
		if err != nil {
			return nil, err
		}
		findings := []finding{}
		first, err := listed(text)
		if err != nil {
			return nil, err
		}
		return measured(q.Time, len(first), &findings, func() error {
			objects, err := listed(text)
			if err != nil {
				return err
			}
			findings, err = g.audit(ctx, objects)
			return err
		})
	default:
		return g.audit(ctx, known)
	}
}

// measured does all once and returns what that makes, or the CPU time of one of count, garbage collection included: all
// is done again and again for as long as limit.
func measured(limit time.Duration, count int, made any, all func() error) (any, error) {
	if err := all(); err != nil || limit == 0 {
		return made, err
	}
	done, began := int64(0), cpu()
	for cpu()-began < limit {
		if err := all(); err != nil {
			return nil, err
		}
		done += int64(count)
	}
	return (cpu() - began).Nanoseconds() / done, nil
}

// read reads the documents of a file as a client of the API server would: whole numbers are whole.
func read(file string) (all []*unstructured.Unstructured, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(raw.Raw) == 0 {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw.Raw); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, u)
	}
}

func listed(text []byte) (objects []*unstructured.Unstructured, err error) {
	list := &unstructured.UnstructuredList{}
	err = list.UnmarshalJSON(text)
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, err
}

// know adds objects to the inventory, and the Namespaces among them to those that the cluster has.
func (g *engine) know(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		if u.GetKind() == "Namespace" && u.GetAPIVersion() == "v1" {
			namespace := &corev1.Namespace{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, namespace); err != nil {
				return err
			}
			g.namespaces[namespace.Name] = namespace
		}
		if _, err := g.client.AddData(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// namespace is the Namespace of that name: nil for none, and one without labels if the cluster isn't known to have it.
func (g *engine) namespace(name string) *corev1.Namespace {
	if name == "" || g.namespaces[name] != nil {
		return g.namespaces[name]
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// review asks the engine, which is given the Namespace twice.
func (g *engine) review(ctx context.Context, point string, namespace *corev1.Namespace,
	object any) ([]*types.Result, error) {
	options := []reviews.ReviewOpt{reviews.EnforcementPoint(point)}
	if option := util.NamespaceReviewOpt(namespace, logr.Discard()); option != nil {
		options = append(options, option)
	}
	responses, err := g.client.Review(ctx, object, options...)
	if err != nil {
		return nil, err
	}
	return responses.Results(), nil
}

// audit judges objects as the manager's audit does. What the audit does besides isn't in it: the objects of each page
// of a list are written to files and read again.
func (g *engine) audit(ctx context.Context, objects []*unstructured.Unstructured) ([]finding, error) {
	found := []finding{}
	for _, u := range objects {
		name := fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
		namespace := g.namespace(u.GetNamespace())
		results, err := g.review(ctx, util.AuditEnforcementPoint, namespace, target.AugmentedUnstructured{Object: *u,
			Namespace: namespace, Source: mutationtypes.SourceTypeOriginal})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range results {
			found = append(found, finding{name, r.Constraint.GetName(), r.Msg})
		}
	}
	return found, nil
}

func (g *engine) verdicts(ctx context.Context, lines [][]byte) (all []verdict, err error) {
	for _, body := range lines {
		v, err := g.verdict(ctx, body)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// verdict follows the webhook (pkg/webhook/policy.go: reviewRequest, createReviewForRequest, review and
// getValidationMessages): a Namespace lives in none, any other object in the Namespace that the cluster has, and the
// request is refused if any result says deny. That the old object is judged on DELETE is the target's own doing
// (pkg/target/target.go, setObjectOnDelete). Left out are expansion, which has no templates here, and Gatekeeper's own
// kinds. A review that can't be judged is a violation, for the webhook answers it with an error.
func (g *engine) verdict(ctx context.Context, body []byte) (verdict, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return verdict{}, err
	}
	r := review.Request
	if r.Kind.Kind == "Namespace" && r.Kind.Group == "" {
		r.Namespace = ""
	}
	namespace := g.namespace(r.Namespace)
	results, err := g.review(ctx, util.WebhookEnforcementPoint, namespace, &target.AugmentedReview{AdmissionRequest: r,
		Namespace: namespace, Source: mutationtypes.SourceTypeOriginal, IsAdmission: true})
	if err != nil {
		return verdict{Violations: []string{"error: " + err.Error()}}, nil
	}
	v := verdict{Allowed: true, Violations: []string{}}
	for _, r := range results {
		action := strictest(r)
		v.Violations = append(v.Violations, fmt.Sprintf("%s %s: %s", action, r.Constraint.GetName(), r.Msg))
		v.Allowed = v.Allowed && action != string(util.Deny)
	}
	slices.Sort(v.Violations)
	return v, nil
}

// strictest is the enforcement action of a result. If a constraint has several at one enforcement point the webhook
// does all, and a policy has the strictest.
func strictest(r *types.Result) string {
	if r.EnforcementAction != string(util.Scoped) {
		return r.EnforcementAction
	}
	for _, action := range []util.EnforcementAction{util.Deny, util.Warn} {
		if slices.Contains(r.ScopedEnforcementActions, string(action)) {
			return string(action)
		}
	}
	return string(util.Dryrun)
}

// cpu is the CPU time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
