// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// metadata judges what lies under the metadata of an object or of a template in it;
// false when the path isn't there.
func (j *judged) metadata(path string, before, after any) bool {
	switch {
	case strings.HasSuffix(path, "/metadata/labels"), strings.HasSuffix(path, "/metadata/annotations"):
		b, a := asMap(before), asMap(after)
		for _, key := range keys(b, a) {
			if !isEqual(b[key], a[key]) && obeyed(key) {
				j.add(join(path, key), ClassMetadata)
			}
		}
		return true
	case path == "/metadata/ownerReferences", path == "/metadata/finalizers":
		j.add(path, ClassOwnership)
		return true
	case path == "/metadata/managedFields", path == "/metadata/resourceVersion", path == "/metadata/generation",
		path == "/metadata/creationTimestamp", path == "/metadata/uid":
		return true // the server's own
	}
	return false
}

// ObeyedDomains are the domains whose labels and annotations give power, because a
// program obeys them: it injects containers, grants an identity of a cloud, routes
// traffic, lets Pods in, or deletes what it takes for its own. Subdomains count.
func ObeyedDomains() []string {
	return []string{
		"kubernetes.io", "k8s.io", "openshift.io", "istio.io", "linkerd.io", "hashicorp.com", "cilium.io",
		"projectcalico.org",
		"cni.cncf.io", "amazonaws.com", "gke.io", "google.com", "azure.com", "azure.workload.identity", "argoproj.io",
		"fluxcd.io",
		"helm.sh", "kyverno.io", "gatekeeper.sh", "cert-manager.io", "external-secrets.io", "crossplane.io",
		"karpenter.sh",
		"nginx.org", "haproxy.org", "haproxy.com", "konghq.com", "projectcontour.io", "getambassador.io", "traefik.io",
		"dapr.io",
		"opentelemetry.io", "banzaicloud.com", "datadoghq.com", "newrelic.com", "kuma.io", "openservicemesh.io",
		"knative.dev",
		"sigstore.dev", "fleet.cattle.io", "rancher.io", "cattle.io", "aquasec.com", "sysdig.com",
	}
}

// HarmlessKeys are keys of those domains that tell and do nothing.
func HarmlessKeys() []string {
	return []string{
		"app.kubernetes.io/name", "app.kubernetes.io/part-of", "app.kubernetes.io/component",
		"app.kubernetes.io/version",
		"app.kubernetes.io/created-by", "kubernetes.io/description", "kubernetes.io/change-cause",
		"kubectl.kubernetes.io/restartedAt",
	}
}

// obeyedKeys are keys by themselves: those without a domain, and Evenkeel's own.
func obeyedKeys() []string {
	return []string{
		"istio-injection", "aadpodidbinding", "cluster-service",
		v1alpha1.LabelPolicy, v1alpha1.LabelRemediation, v1alpha1.AnnotationRemediation,
		v1alpha1.AnnotationPausedUntil, v1alpha1.LabelTier, v1alpha1.AnnotationAuthor, v1alpha1.AnnotationAuthors,
		v1alpha1.AnnotationCreatedFor, v1alpha1.LabelSourceName, v1alpha1.LabelSourceNamespace,
	}
}

// obeyed says whether a program is known to obey a label or an annotation.
func obeyed(key string) bool {
	if slices.Contains(HarmlessKeys(), key) {
		return false
	}
	if slices.Contains(obeyedKeys(), key) {
		return true
	}
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && slices.ContainsFunc(ObeyedDomains(), func(of string) bool {
		return domain == of || strings.HasSuffix(domain, "."+of)
	})
}
