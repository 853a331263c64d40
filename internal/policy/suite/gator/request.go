// SPDX-License-Identifier: Apache-2.0

package gator

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/policy"
	reports "evenkeel.dev/evenkeel/internal/policy/suite"
)

// request asks for the verdict on what a case names.
func (c *testCase) request(fsys fs.FS, suiteFile string) (*policy.Request, error) {
	if c.Object == "" {
		return nil, errors.New("object is missing: give the path of a manifest")
	}
	objects, err := documents(fsys, suiteFile, c.Object)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %d objects: a case is of one", c.Object, len(objects))
	}
	object := objects[0].Object
	version, _ := object["apiVersion"].(string)
	r := policy.NewAudit(object, nil, reports.Now())
	if object["kind"] == "AdmissionReview" && strings.HasPrefix(version, admissionv1.GroupName+"/") {
		if r, err = reviewed(object); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Object, err)
		}
	}
	return r, c.place(fsys, suiteFile, r)
}

// reviewed is the request of an AdmissionReview.
func reviewed(review map[string]any) (*policy.Request, error) {
	var typed admissionv1.AdmissionReview
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(review, &typed, true); err != nil {
		return nil, fmt.Errorf("it is no AdmissionReview: %w", err)
	}
	in := typed.Request
	if in == nil {
		return nil, errors.New("the AdmissionReview has no request")
	}
	given, _ := review["request"].(map[string]any)
	r := &policy.Request{UID: string(in.UID), Operation: policy.Operation(in.Operation),
		Kind:     policy.GroupVersionKind{Group: in.Kind.Group, Version: in.Kind.Version, Kind: in.Kind.Kind},
		Resource: in.Resource.Resource, SubResource: in.SubResource, Namespace: in.Namespace, Name: in.Name,
		UserInfo: policy.UserInfo{Username: in.UserInfo.Username, UID: in.UserInfo.UID, Groups: in.UserInfo.Groups},
		DryRun:   in.DryRun != nil && *in.DryRun, Now: reports.Now()}
	r.Object, _ = given["object"].(map[string]any)
	r.OldObject, _ = given["oldObject"].(map[string]any)
	if r.Judged() == nil {
		return nil, errors.New("the AdmissionReview has no object, and on DELETE no oldObject")
	}
	return r, nil
}

// place gives the request its namespace: that of the inventory, if it is there. Other objects of the
// inventory no rule sees.
func (c *testCase) place(fsys fs.FS, suiteFile string, r *policy.Request) error {
	if r.Namespace == "" {
		return nil
	}
	r.NamespaceObject = map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": r.Namespace}}
	for _, name := range c.Inventory {
		objects, err := documents(fsys, suiteFile, name)
		if err != nil {
			return fmt.Errorf("inventory: %w", err)
		}
		for _, d := range objects {
			if d.Object["kind"] == "Namespace" && policy.Metadata(d.Object)["name"] == r.Namespace {
				r.NamespaceObject = d.Object
			}
		}
	}
	return nil
}
