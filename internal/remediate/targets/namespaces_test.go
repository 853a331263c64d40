// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slowNamespaces answers for the namespace "slow" once it is told to, and notes what it is asked for.
type slowNamespaces struct {
	client.Reader
	began  chan struct{}
	answer chan struct{}
	broken bool

	mu    sync.Mutex
	asked map[string]int
}

func (s *slowNamespaces) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	s.asked[key.Name]++
	broken := s.broken
	s.mu.Unlock()
	if key.Name == "slow" {
		close(s.began)
		<-s.answer
	}
	if broken {
		return errors.New("no answer")
	}
	obj.SetName(key.Name)
	return nil
}

func in(namespace string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetNamespace(namespace)
	return obj
}

// A Namespace that is slow to be read holds up nobody who asks for another one, and each is read once for all.
func TestASlowNamespaceHoldsUpNoOther(t *testing.T) {
	reader := &slowNamespaces{began: make(chan struct{}), answer: make(chan struct{}), asked: map[string]int{}}
	c := &Client{Reader: reader}
	var slow sync.WaitGroup
	for range 3 {
		slow.Go(func() {
			if ns, err := c.NamespaceOf(t.Context(), in("slow")); err != nil || ns.GetName() != "slow" {
				t.Errorf("got %v, %v", ns, err)
			}
		})
	}
	<-reader.began
	other := make(chan error, 1)
	go func() {
		_, err := c.NamespaceOf(t.Context(), in("other"))
		other <- err
	}()
	select {
	case err := <-other:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("another namespace waits for the slow one")
	}
	close(reader.answer)
	slow.Wait()
	if reader.asked["slow"] != 1 {
		t.Errorf("it was read %d times", reader.asked["slow"])
	}
}

// A Namespace that couldn't be read is read again.
func TestANamespaceThatCouldntBeReadIsReadAgain(t *testing.T) {
	reader := &slowNamespaces{asked: map[string]int{}, broken: true}
	c := &Client{Reader: reader}
	if _, err := c.NamespaceOf(t.Context(), in("shop")); err == nil {
		t.Error("an unreadable namespace is no error")
	}
	reader.broken = false
	for range 2 {
		if ns, err := c.NamespaceOf(t.Context(), in("shop")); err != nil || ns.GetName() != "shop" {
			t.Errorf("got %v, %v", ns, err)
		}
	}
	if reader.asked["shop"] != 2 {
		t.Errorf("it was read %d times", reader.asked["shop"])
	}
}
