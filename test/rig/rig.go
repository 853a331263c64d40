// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/process"
)

// SystemNamespace is the manager's own.
const SystemNamespace = "evenkeel-system"

// managerUser is who the managers are to the API server.
const managerUser = "system:serviceaccount:evenkeel-system:evenkeel"

func managerGroups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:evenkeel-system", "system:authenticated"}
}

// Rig is a control plane with Evenkeel's kinds and permissions installed, and the
// manager's program at hand. One serves a whole suite.
type Rig struct {
	*cluster.Cluster
	// API is an administrator's client without a cache.
	API client.WithWatch
	// Flags are what every manager gets, before those of a spec.
	Flags []string

	dir      string
	binary   string
	numbered atomic.Int64
	// env is what the managers get besides the environment of the tests.
	env []string
}

// Start builds and starts all but a manager, whose program is built with the
// given flags of go build.
func Start(ctx context.Context, build ...string) (*Rig, error) {
	root, err := cluster.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "evenkeel-rig-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the rig: %w", err)
	}
	log.SetLogger(GinkgoLogr)
	r := &Rig{dir: dir}
	if r.binary, err = process.Build(ctx, root, dir, build...); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	if r.Cluster, err = cluster.Start(ctx, dir); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	if r.API, err = r.Client(); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	if err := r.install(ctx); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// install sets up what an administrator would: kinds, the manager's namespace
// and permissions, and the permission to read and write the ConfigMaps and workloads that
// specs use for targets.
func (r *Rig) install(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}}
	if err := r.API.Create(ctx, ns); err != nil {
		return fmt.Errorf("make the manager's namespace: %w", err)
	}
	if err := r.Install(ctx, "crd", "rbac"); err != nil {
		return err
	}
	for _, role := range []*rbacv1.ClusterRole{
		grant("reader", "test-read-targets", []string{"get", "list", "watch"}, "", "configmaps"),
		grant("writer", "test-write-targets", []string{"get", "patch"}, "", "configmaps"),
		grant("writer", "test-write-workloads", []string{"get", "patch"}, "apps", "deployments"),
	} {
		if err := r.API.Create(ctx, role); err != nil {
			return fmt.Errorf("grant permissions: %w", err)
		}
	}
	return nil
}

// grant makes a role that joins the manager's reader or writer.
func grant(to, name string, verbs []string, group, resource string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"rbac.evenkeel.dev/aggregate-to-" + to: "true"}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}},
	}
}

// AsManager is a client with the manager's name and permissions: what only the manager
// may write, such as a breaker's status, a spec writes by it.
func (r *Rig) AsManager() client.Client {
	GinkgoHelper()
	config := r.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: managerGroups()}
	scheme, err := cluster.Scheme()
	Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// Binary is the path of Evenkeel's program.
func (r *Rig) Binary() string { return r.binary }

// Stop ends the control plane and removes the rig's files.
func (r *Rig) Stop() error {
	return errors.Join(r.Cluster.Stop(), os.RemoveAll(r.dir))
}

// Namespace makes a namespace of the spec's own, named for what it is about, and
// removes it with the spec.
func (r *Rig) Namespace(ctx context.Context, about string) string {
	GinkgoHelper()
	name := fmt.Sprintf("%s-%d", about, r.numbered.Add(1))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(r.API.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(r.API.Delete(ctx, ns))).To(Succeed())
	})
	return name
}

// Create creates objects.
func (r *Rig) Create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(r.API.Create(ctx, o)).To(Succeed(), "create %T %s", o, o.GetName())
	}
}

// Get reads an object anew, into the object given, of which nothing stays: a client decodes
// into the maps that are there, and leaves what the answer lacks.
func (r *Rig) Get(ctx context.Context, o client.Object) error {
	into := reflect.ValueOf(o).Elem()
	fresh := reflect.New(into.Type())
	read := fresh.Interface().(client.Object)
	read.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	if err := r.API.Get(ctx, client.ObjectKeyFromObject(o), read); err != nil {
		return err
	}
	into.Set(fresh.Elem())
	return nil
}

// tail returns a file's content after an offset, its last lines at most.
func tail(path string, offset int64, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) < offset {
		return fmt.Sprintf("%s can't be read: %v", filepath.Base(path), err)
	}
	all := strings.Split(strings.TrimSpace(string(text[offset:])), "\n")
	all = all[max(0, len(all)-lines):]
	for i, line := range all {
		all[i] = line[:min(len(line), loggedWidth)] // the rest is a stack trace
	}
	return strings.Join(all, "\n")
}
