// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/cluster"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
	"evenkeel.dev/evenkeel/hack/demo/internal/neighbours"
)

const (
	nodes        = 3
	kinds        = 5 // of Evenkeel's API
	leaseName    = "evenkeel-leader"
	installLimit = 30 * time.Second
	leaderLimit  = 30 * time.Second
	fleetLimit   = 90 * time.Second
)

// imagesAllowed lets fixes set images: the demo has a policy whose fix does, and
// does harm by it. No other class of fields is allowed.
const imagesAllowed = "--remediation-allow-fields=image"

// setTheStage is step 1.
func (d *demo) setTheStage(ctx context.Context) error {
	began := d.now()
	stage, err := cluster.Start(ctx, d.programs, d.keep)
	d.stage = stage
	if err != nil {
		return err
	}
	if d.client, err = newClient(stage); err != nil {
		return err
	}
	if err := d.expect(ctx, "A Kubernetes control plane is up", d.now().Sub(began), d.controlPlaneUp); err != nil {
		return err
	}
	if err := d.installEvenkeel(ctx); err != nil {
		return err
	}
	return d.createFleet(ctx)
}

func newClient(stage *cluster.Cluster) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register the API types: %w", err)
		}
	}
	c, err := client.NewWithWatch(stage.REST(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

func (d *demo) controlPlaneUp(ctx context.Context) (string, bool, error) {
	found, err := discovery.NewDiscoveryClientForConfig(d.stage.REST())
	if err != nil {
		return "", false, fmt.Errorf("make a client: %w", err)
	}
	version, err := found.ServerVersion()
	if err != nil {
		return "", false, fmt.Errorf("ask for the version: %w", err)
	}
	var list corev1.NodeList
	if err := d.client.List(ctx, &list); err != nil {
		return "", false, fmt.Errorf("list the nodes: %w", err)
	}
	return fmt.Sprintf("Kubernetes %s, %d nodes", version.GitVersion, len(list.Items)), len(list.Items) == nodes, nil
}

func (d *demo) installEvenkeel(ctx context.Context) error {
	if _, err := d.show.Track("installing Evenkeel's manifests", func(func(string)) error {
		return d.stage.Install(ctx)
	}); err != nil {
		return err
	}
	if err := d.await(ctx, "Evenkeel's API is served", installLimit, d.apiServed); err != nil {
		return err
	}
	flags, err := d.startMonitoring(ctx)
	if err != nil {
		return err
	}
	took, err := d.show.Track("starting the manager", func(detail func(string)) error {
		if err := d.stage.StartManager(ctx, d.client, append(flags, imagesAllowed)...); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, leaderLimit)
		defer cancel()
		_, err := d.poll(limited, d.managerLeads, detail)
		return err
	})
	if err != nil {
		return err
	}
	return d.expect(ctx, "The manager is ready, with its service account's permissions only", took, d.managerLeads)
}

// startMonitoring starts what the manager asks for metrics and tells of alerts,
// and returns the flags by which it finds them.
func (d *demo) startMonitoring(ctx context.Context) ([]string, error) {
	var err error
	if d.around, err = neighbours.Start(d.failedRequests); err != nil {
		return nil, err
	}
	var prometheus, alertmanager string
	if _, err := d.show.Track("starting Prometheus and Alertmanager", func(func(string)) error {
		prometheus, alertmanager,
			err = d.stage.StartMonitoring(ctx, d.around.Address, []string{approvalOwner, metricOwner})
		return err
	}); err != nil {
		return nil, err
	}
	return []string{"--prometheus-url=" + prometheus, "--alertmanager-url=" + alertmanager, "--cluster-name=demo",
		"--alert-interval=1s"}, nil
}

func (d *demo) apiServed(context.Context) (string, bool, error) {
	found, err := discovery.NewDiscoveryClientForConfig(d.stage.REST())
	if err != nil {
		return "", false, fmt.Errorf("make a client: %w", err)
	}
	list, err := found.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		return err.Error(), false, nil // it appears some moments after the CRDs
	}
	seen := map[string]bool{}
	for _, resource := range list.APIResources {
		seen[resource.Kind] = true
	}
	served := 0
	for _, kind := range []string{"ClusterRegoPolicy", "Waiver", "Remediation",
		"RemediationSlice", "RemediationBreaker"} {
		if seen[kind] {
			served++
		}
	}
	return fmt.Sprintf("%d kinds of %s", served, v1alpha1.GroupVersion), served == kinds, nil
}

// managerLeads holds once the manager, which has answered its readiness probe,
// holds the lease in the name of its service account.
func (d *demo) managerLeads(ctx context.Context) (string, bool, error) {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: leaseName}
	if err := d.client.Get(ctx, key, &lease); apierrors.IsNotFound(err) {
		return "no lease yet", false, nil
	} else if err != nil {
		return "", false, fmt.Errorf("read the lease %s: %w", key, err)
	}
	return "it holds the lease " + leaseName, ptr.Deref(lease.Spec.HolderIdentity, "") != "", nil
}

// createFleet makes the Deployments while no policy exists.
func (d *demo) createFleet(ctx context.Context) error {
	var policies v1alpha1.ClusterRegoPolicyList
	if err := d.client.List(ctx, &policies); err != nil {
		return fmt.Errorf("list the policies: %w", err)
	}
	if len(policies.Items) > 0 {
		return fmt.Errorf("%d policies are there already: the demo needs a fresh cluster", len(policies.Items))
	}
	for _, name := range fleet.Namespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := d.client.Create(ctx, namespace); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	for _, deployment := range fleet.Deployments() {
		if err := d.client.Create(ctx, deployment); err != nil {
			return fmt.Errorf("create Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
		}
	}
	if err := d.await(ctx, "40 Deployments run before any policy", fleetLimit, d.allAvailable(fleet.Size)); err != nil {
		return err
	}
	if err := d.recorder.Start(ctx, d.client); err != nil {
		return err
	}
	return d.expect(ctx, "30 of them run a privileged container", 0, d.violate(fleet.Violating))
}

// allAvailable holds when exactly size Deployments exist and all are available.
func (d *demo) allAvailable(size int) check {
	return func(ctx context.Context) (string, bool, error) {
		now, err := fleet.Take(ctx, d.client)
		if err != nil {
			return "", false, err
		}
		available := now.Count(fleet.Available)
		return fmt.Sprintf("%d of %d available", available, len(now.Items)), available == size &&
			len(now.Items) == size, nil
	}
}

// violate holds when so many Deployments violate, as the demo itself judges them.
func (d *demo) violate(count int) check {
	return func(ctx context.Context) (string, bool, error) {
		now, err := fleet.Take(ctx, d.client)
		if err != nil {
			return "", false, err
		}
		found := now.Count(fleet.Violates)
		return fmt.Sprintf("%d of %d", found, len(now.Items)), found == count, nil
	}
}
