// SPDX-License-Identifier: Apache-2.0

package exempt

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/internal/policy"
)

// The identities that a cluster needs to start, to finish and to clean up. No
// permission in a namespace gives anybody one of them.
const (
	userAPIServer = "system:apiserver"
	groupMasters  = "system:masters"
	nodePrefix    = "system:node:"
	groupNodes    = "system:nodes"
	// kubeSystem begins the user names of the controller manager's controllers.
	kubeSystem          = "system:serviceaccount:kube-system:"
	namespaceController = kubeSystem + "namespace-controller"
	// mirrorAnnotation marks a Pod that only shows what a node runs from a file.
	mirrorAnnotation = "kubernetes.io/config.mirror"
	ownCRDSuffix     = ".evenkeel.dev"
)

func exemptions() []exemption {
	return slices.Concat(finalizerExemptions(), deletionExemptions(), startExemptions(), contentExemptions())
}

// deletionExemptions are the deletions that only go on with one that was judged.
func deletionExemptions() []exemption {
	return []exemption{
		{
			name: "deletion-goes-on",
			what: "a DELETE of an object that is being deleted already",
			why:  "the first one was judged; a node ends a Pod, and a controller what hangs, by another",
			condition: func() string {
				return "request.operation == 'DELETE' && oldObject != null && has(oldObject.metadata.deletionTimestamp)"
			},
			holds: func(r *policy.Request) bool {
				return r.Operation == policy.Delete && r.OldObject != nil &&
					policy.Metadata(r.OldObject)["deletionTimestamp"] != nil
			},
		},
		{
			name: "namespace-ends",
			what: "a DELETE within a namespace by the namespace controller", why: "it follows from the namespace's " +
				"own deletion, which can't be taken back; a policy that keeps something for good matches the Namespace",
			condition: func() string {
				return fmt.Sprintf("request.operation == 'DELETE' && has(request.namespace) && %s",
					isUser(namespaceController))
			},
			holds: func(r *policy.Request) bool {
				return r.Operation == policy.Delete && r.Namespace != "" && r.UserInfo.Username == namespaceController
			},
		},
	}
}

// startExemptions are what a cluster's parts write so as to come back by themselves.
func startExemptions() []exemption {
	return []exemption{
		{
			name: "nodes",
			what: "what nodes write (`system:node:…` in the group `system:nodes`); of Pods only mirrors of static ones",
			why:  "a node must come back while nobody answers; a static Pod runs whether its mirror is admitted or not",
			condition: func() string {
				return fmt.Sprintf("has(request.userInfo.username) && request.userInfo.username.startsWith('%s') && "+
					"%s && (request.resource.group != '' || request.resource.resource != 'pods' || request.operation "+
					"== 'CREATE' && %s || request.operation == 'DELETE' && %s)",
					nodePrefix, inGroup(groupNodes), isMirror("object"), isMirror("oldObject"))
			},
			holds: byNode,
		},
		{
			name: "api-server",
			what: "what the API server writes itself (`system:apiserver`)", why: "it makes the system's namespaces, " +
				"roles, Services and API services when it starts, and ends if it can't",
			condition: func() string {
				return fmt.Sprintf("%s && %s", isUser(userAPIServer), inGroup(groupMasters))
			},
			holds: func(r *policy.Request) bool {
				return r.UserInfo.Username == userAPIServer && slices.Contains(r.UserInfo.Groups, groupMasters)
			},
		},
	}
}

// contentExemptions are objects whose content is nobody's choice.
func contentExemptions() []exemption {
	return []exemption{
		{
			name: "trust",
			what: "the ConfigMap `kube-root-ca.crt` and the ServiceAccount `default` of each namespace, and the " +
				"ConfigMap `cluster-info`, by the controllers of the controller manager that publish them",
			why: "without them nothing starts in a namespace, and no node finds the cluster; what they hold " +
				"isn't anybody's choice",
			condition: publishedCondition,
			holds: func(r *policy.Request) bool {
				return slices.ContainsFunc(published(), func(p publication) bool { return p.holds(r) })
			},
		},
		{
			name: "own-definitions",
			what: "the CustomResourceDefinitions of `evenkeel.dev`",
			why:  "Evenkeel can always be installed and upgraded",
			condition: func() string {
				return fmt.Sprintf("request.kind.group == 'apiextensions.k8s.io' && request.kind.kind == "+
					"'CustomResourceDefinition' && has(request.name) && request.name.endsWith('%s')", ownCRDSuffix)
			},
			holds: func(r *policy.Request) bool {
				return r.Kind.Group == "apiextensions.k8s.io" && r.Kind.Kind == "CustomResourceDefinition" &&
					strings.HasSuffix(r.Name, ownCRDSuffix)
			},
		},
	}
}

// Conditions have the API server ask about everything but what is exempt.
func Conditions() []admissionregistrationv1.MatchCondition { return matchConditions(exemptions()) }

// OwnConditions let the deletion of an object of ours end while nobody answers.
func OwnConditions() []admissionregistrationv1.MatchCondition {
	return matchConditions(finalizerExemptions()[:1])
}

func matchConditions(exempt []exemption) []admissionregistrationv1.MatchCondition {
	out := make([]admissionregistrationv1.MatchCondition, len(exempt))
	for i, e := range exempt {
		out[i] = admissionregistrationv1.MatchCondition{Name: "not-" + e.name, Expression: "!(" + e.condition() + ")"}
	}
	return out
}

func byNode(r *policy.Request) bool {
	if !strings.HasPrefix(r.UserInfo.Username, nodePrefix) || !slices.Contains(r.UserInfo.Groups, groupNodes) {
		return false
	}
	if r.Kind.Group != "" || r.Resource != "pods" {
		return true
	}
	shown := r.Object
	if r.Operation == policy.Delete {
		shown = r.OldObject
	}
	annotations, _ := policy.Metadata(shown)["annotations"].(map[string]any)
	_, mirror := annotations[mirrorAnnotation]
	return mirror && r.Operation != policy.Update
}

// The CEL of a user, a group, and a mirror Pod.
func isUser(name string) string {
	return fmt.Sprintf("has(request.userInfo.username) && request.userInfo.username == '%s'", name)
}

func inGroup(name string) string {
	return fmt.Sprintf("has(request.userInfo.groups) && '%s' in request.userInfo.groups", name)
}

func isMirror(object string) string {
	return fmt.Sprintf("%[1]s != null && has(%[1]s.metadata.annotations) && '%[2]s' in %[1]s.metadata.annotations",
		object, mirrorAnnotation)
}
