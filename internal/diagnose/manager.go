// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// deploymentName is the manager's Deployment in config/manager.
	deploymentName = "evenkeel"
	// leaseName is the leader's lease.
	leaseName = "evenkeel-leader"
)

func manager(ctx context.Context, in *Installation) []Finding {
	d, err := in.deployment(ctx)
	switch {
	case apierrors.IsNotFound(err):
		if url := in.outside(ctx); url != "" {
			return []Finding{in.answersAt(ctx, url)}
		}
		if _, fresh, _ := in.lease(ctx); fresh {
			return []Finding{
				warned("",
					"there is no Deployment %s/%s, but somebody holds the leader's lease: the manager runs elsewhere",
					in.Namespace, deploymentName)}
		}
		return []Finding{
			failed("kubectl apply --server-side -k config/default, or name its namespace with --controller-namespace",
				"there is no Deployment %s/%s", in.Namespace, deploymentName)}
	case err != nil:
		return []Finding{unread("Deployment "+in.Namespace+"/"+deploymentName, err)}
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	look := "kubectl -n " + in.Namespace + " describe deployment " + deploymentName + "; kubectl -n " + in.Namespace +
		" logs deployment/" + deploymentName
	switch ready := d.Status.ReadyReplicas; {
	case ready == 0:
		return []Finding{failed(look, "none of %s of Deployment %s/%s is ready",
			prose.Count(want, "replica"), in.Namespace, deploymentName)}
	case ready < want:
		return []Finding{warned(look, "%d of %s of Deployment %s/%s %s ready", ready,
			prose.Count(want, "replica"), in.Namespace, deploymentName, prose.Verb(ready, "is", "are"))}
	case want < 2:
		return []Finding{warned("kubectl -n "+in.Namespace+" scale deployment "+deploymentName+" --replicas=2",
			"there is one replica only: admission stops while it restarts")}
	default:
		return []Finding{fine("%d of %s are ready", ready, prose.Count(want, "replica"))}
	}
}

func (in *Installation) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, in.Client.Get(ctx, client.ObjectKey{Namespace: in.Namespace, Name: deploymentName}, d)
}

// outside is where a manager outside the cluster is asked, as one of make run is; empty for one behind a Service, and
// where its ServiceAccount isn't: then it is of another namespace.
func (in *Installation) outside(ctx context.Context) string {
	account := &corev1.ServiceAccount{}
	if apierrors.IsNotFound(in.Client.Get(ctx, client.ObjectKey{Namespace: in.Namespace, Name: in.ServiceAccount},
		account)) {
		return ""
	}
	entries, _, err := in.entries(ctx)
	if err != nil || len(entries) == 0 || entries[0].client.URL == nil {
		return ""
	}
	return *entries[0].client.URL
}

func (in *Installation) answersAt(ctx context.Context, url string) Finding {
	_, _, err := in.send(ctx)
	f, bad := refusal(err)
	switch {
	case !bad:
		return fine("the manager runs outside the cluster, at %s, and answers", url)
	case f.Status == Fail:
		return failed("start it, for example: make run; see its log", "the manager outside the cluster, at %s, "+
			"doesn't answer, or refuses what is sound: see the check admission", url)
	}
	return fine("the manager runs outside the cluster, at %s: whether it answers isn't known", url)
}

// lease reads the leader's lease, and says whether it is held now.
func (in *Installation) lease(ctx context.Context) (lease *coordinationv1.Lease, fresh bool, err error) {
	lease = &coordinationv1.Lease{}
	if err := in.Client.Get(ctx, client.ObjectKey{Namespace: in.Namespace, Name: leaseName}, lease); err != nil {
		return nil, false, err
	}
	held := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	if !held || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return lease, false, nil
	}
	// Two clocks are compared: allow them what apiServer lets pass.
	lasts := time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second + skewWarn
	return lease, in.Clock.Since(lease.Spec.RenewTime.Time) <= lasts, nil
}

// leader looks whether one of the replicas leads: without one nothing is scanned,
// fixed or escalated.
func leader(ctx context.Context, in *Installation) []Finding {
	do := "see why no replica takes it: kubectl -n " + in.Namespace + " logs deployment/" + deploymentName
	lease, fresh, err := in.lease(ctx)
	switch {
	case apierrors.IsNotFound(err) && in.outside(ctx) != "":
		return []Finding{fine("there is no Lease %s/%s: the manager outside the cluster runs without leader election",
			in.Namespace, leaseName)}
	case apierrors.IsNotFound(err):
		return []Finding{failed(do, "there is no Lease %s/%s: no manager has ever led", in.Namespace, leaseName)}
	case err != nil:
		return []Finding{unread("Lease "+in.Namespace+"/"+leaseName, err)}
	case !fresh && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == ""):
		return []Finding{failed(do, "nobody holds the Lease %s/%s: nothing is scanned, fixed or escalated",
			in.Namespace, leaseName)}
	case !fresh && lease.Spec.RenewTime != nil:
		return []Finding{
			failed(do, "%s hasn't renewed the Lease %s/%s since %s: nothing is scanned, fixed or escalated",
				*lease.Spec.HolderIdentity, in.Namespace, leaseName, lease.Spec.RenewTime.UTC().Format(time.RFC3339))}
	case !fresh:
		return []Finding{failed(do, "the Lease %s/%s has never been renewed", in.Namespace, leaseName)}
	default:
		return []Finding{fine("%s leads", *lease.Spec.HolderIdentity)}
	}
}

// alertDelivery looks whether the manager is told of an Alertmanager. Whether it
// takes what is sent, the manager's own metrics and alert say.
func alertDelivery(ctx context.Context, in *Installation) []Finding {
	d, err := in.deployment(ctx)
	if apierrors.IsNotFound(err) {
		if in.outside(ctx) != "" {
			return []Finding{warned("give it --alertmanager-url, for example make run ARGS=--alertmanager-url=URL",
				"the manager runs outside the cluster: whether it sends alerts isn't known here")}
		}
		return []Finding{warned("see the flag --alertmanager-url of the manager, wherever it runs",
			"the manager runs elsewhere: whether it sends alerts isn't known here")}
	}
	if err != nil {
		return []Finding{unread("Deployment "+in.Namespace+"/"+deploymentName, err)}
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--alertmanager-url=") })
		if i >= 0 {
			return []Finding{fine("alerts go to %s; alert EvenkeelEscalationFailing fires when they don't arrive",
				strings.TrimPrefix(c.Args[i], "--alertmanager-url="))}
		}
	}
	return []Finding{warned("give the manager --alertmanager-url and --cluster-name, or install config/prometheus",
		"the manager sends no alerts itself: only rules of Prometheus (config/prometheus) can wake somebody")}
}
