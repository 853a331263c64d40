// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestATypedClientReadsTheOthers has a client of the API's types read from a server over
// HTTP, where without Lists one object makes the list an error, and ends the watch.
func TestATypedClientReadsTheOthers(t *testing.T) {
	const kind = "ClusterRegoPolicy"
	bad :=
		`{"apiVersion":"evenkeel.dev/v1alpha1","kind":"ClusterRegoPolicy","metadata":{"name":"bad"},"spec":{"title":["a while"]},"status":{"revision":"r1"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := fmt.Sprintf(`{"apiVersion":"evenkeel.dev/v1alpha1","kind":"ClusterRegoPolicyList","items":[%s,%s]}`,
			bad, good(kind, ""))
		if r.URL.Query().Get("watch") == "true" {
			text = fmt.Sprintf(`{"type":"ADDED","object":%s}{"type":"ADDED","object":%s}`, bad, good(kind, ""))
		}
		_, _ = w.Write([]byte(text)) // who hangs up has read enough
	}))
	defer server.Close()
	lists, _ := told(t, nil)
	config := &rest.Config{Host: server.URL}
	if err := clientOf(t, config).List(t.Context(), &v1alpha1.ClusterRegoPolicyList{}); err == nil {
		t.Error("without Lists the list is read too: this test shows nothing")
	}
	config.Wrap(lists.Wrap)
	api := clientOf(t, config)
	list := &v1alpha1.ClusterRegoPolicyList{}
	if err := api.List(t.Context(), list); err != nil || len(list.Items) != 2 {
		t.Fatalf("%d items are read, %v", len(list.Items), err)
	}
	if why, status := v1alpha1.Malformed(&list.Items[0]), list.Items[0].Status.Revision; why == "" || status != "r1" {
		t.Errorf("the malformed one says %q, of revision %q", why, status)
	}
	if why := v1alpha1.Malformed(&list.Items[1]); why != "" || list.Items[1].Name != "good" {
		t.Errorf("the good one is %+v", list.Items[1])
	}
	events, err := api.Watch(t.Context(), &v1alpha1.ClusterRegoPolicyList{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for _, name := range []string{"bad", "good"} {
		event := <-events.ResultChan()
		if p, is := event.Object.(*v1alpha1.ClusterRegoPolicy); event.Type != watch.Added || !is || p.Name != name {
			t.Errorf("the event is %+v, want %s added", event, name)
		}
	}
}

func clientOf(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(v1alpha1.GroupVersion.WithKind("ClusterRegoPolicy"),
		v1alpha1.GroupVersion.WithResource("clusterregopolicies"),
		v1alpha1.GroupVersion.WithResource("clusterregopolicy"), meta.RESTScopeRoot)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
