// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
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

// result is one violation, as gator test prints it.
type result struct {
	Message string         `json:"msg"`
	Object  map[string]any `json:"violatingObject"`
}

// read reads the documents of a file as a client of the API server would: whole numbers are whole.
func read(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []*unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		raw, err := yaml.ToJSON(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
			continue
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, u)
	}
}

// know takes objects up into the inventory, and the Namespaces among them.
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

// audit judges objects as the manager's audit does, with all of them as its inventory.
func (g *engine) audit(ctx context.Context, file string) ([]result, error) {
	objects, err := read(file)
	if err != nil {
		return nil, err
	}
	if err := g.know(ctx, objects); err != nil {
		return nil, err
	}
	found := []result{}
	for _, u := range objects {
		namespace := g.namespaces[u.GetNamespace()]
		options := []reviews.ReviewOpt{reviews.EnforcementPoint(util.AuditEnforcementPoint)}
		if option := util.NamespaceReviewOpt(namespace, logr.Discard()); option != nil {
			options = append(options, option)
		}
		responses, err := g.client.Review(ctx, target.AugmentedUnstructured{Object: *u, Namespace: namespace,
			Source: mutationtypes.SourceTypeOriginal}, options...)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
		}
		for _, r := range responses.Results() {
			found = append(found, result{r.Msg, u.Object})
		}
	}
	return found, nil
}

// answer judges one AdmissionReview as the manager's webhook does: from its bytes to the messages.
func (g *engine) answer(ctx context.Context, body []byte) ([]string, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: review.Request.Namespace}}
	augmented := &target.AugmentedReview{AdmissionRequest: review.Request, Namespace: namespace,
		Source: mutationtypes.SourceTypeOriginal, IsAdmission: true}
	options := []reviews.ReviewOpt{reviews.EnforcementPoint(util.WebhookEnforcementPoint)}
	if option := util.NamespaceReviewOpt(namespace, logr.Discard()); option != nil {
		options = append(options, option)
	}
	responses, err := g.client.Review(ctx, augmented, options...)
	if err != nil {
		return nil, err
	}
	messages := []string{}
	for _, r := range responses.Results() {
		messages = append(messages, r.Msg)
	}
	slices.Sort(messages)
	return messages, nil
}

// admit says what is found of each review.
func (g *engine) admit(ctx context.Context, file string) (all [][]string, err error) {
	bodies, err := lines(file)
	for _, body := range bodies {
		messages, err := g.answer(ctx, body)
		if err != nil {
			return nil, err
		}
		all = append(all, messages)
	}
	return all, err
}

// measure is the time that a review takes of the processors, garbage collection included, in nanoseconds.
func (g *engine) measure(ctx context.Context, file string, limit time.Duration) (int64, error) {
	bodies, err := lines(file)
	if err != nil {
		return 0, err
	}
	for _, body := range bodies { // what is done once, is done
		if _, err := g.answer(ctx, body); err != nil {
			return 0, err
		}
	}
	count := int64(0)
	began := cpu()
	for cpu()-began < limit {
		for _, body := range bodies {
			if _, err := g.answer(ctx, body); err != nil {
				return 0, err
			}
		}
		count += int64(len(bodies))
	}
	return (cpu() - began).Nanoseconds() / count, nil
}

func lines(file string) ([][]byte, error) {
	text, err := os.ReadFile(file)
	return bytes.Split(bytes.TrimSpace(text), []byte("\n")), err
}

// cpu is the time that the process has had of the processors.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
