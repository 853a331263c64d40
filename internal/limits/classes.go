// SPDX-License-Identifier: Apache-2.0

package limits

// Class is a class of fields that give power, as the flag names it.
type Class string

// The classes.
const (
	// ClassAll is all of them.
	ClassAll Class = "all"
	// ClassImage is which containers there are and what they run from.
	ClassImage Class = "image"
	// ClassCommand is what runs in them.
	ClassCommand Class = "command"
	// ClassEnvironment is their environment.
	ClassEnvironment Class = "environment"
	// ClassVolumes is what of nodes, Secrets and devices they see.
	ClassVolumes Class = "volumes"
	// ClassServiceAccount is the identity and the credentials that they get.
	ClassServiceAccount Class = "service-account"
	// ClassSecurityContext is their isolation, towards less.
	ClassSecurityContext Class = "security-context"
	// ClassHost is the node's namespaces and ports.
	ClassHost Class = "host"
	// ClassScheduling is which nodes they run on, and what they push out.
	ClassScheduling Class = "scheduling"
	// ClassNetwork is where traffic goes, and whose.
	ClassNetwork Class = "network"
	// ClassMetadata is labels and annotations that other programs obey.
	ClassMetadata Class = "metadata"
	// ClassOwnership is what keeps an object, or has it deleted.
	ClassOwnership Class = "ownership"
	// ClassOther is any field of a Pod that this version doesn't know to be harmless.
	ClassOther Class = "other"
)

// Classes are all classes, in the order in which they are told.
func Classes() []Class {
	return []Class{ClassAll, ClassImage, ClassCommand, ClassEnvironment, ClassVolumes, ClassServiceAccount,
		ClassSecurityContext,
		ClassHost, ClassScheduling, ClassNetwork, ClassMetadata, ClassOwnership, ClassOther}
}

func meaning(c Class) string {
	return map[Class]string{
		ClassImage:           "which containers run, and from what image",
		ClassCommand:         "what runs in a container",
		ClassEnvironment:     "a container's environment",
		ClassVolumes:         "what of nodes, Secrets and devices a container sees",
		ClassServiceAccount:  "a Pod's identity and credentials",
		ClassSecurityContext: "a container's isolation, not plainly towards more",
		ClassHost:            "the node's namespaces and ports",
		ClassScheduling:      "which nodes a Pod runs on, or what it pushes out",
		ClassNetwork:         "where traffic goes",
		ClassMetadata:        "a label or an annotation that other programs obey",
		ClassOwnership:       "what keeps an object, or has it deleted",
		ClassOther:           "a field of a Pod that isn't known to be harmless",
	}[c]
}

// podFields are the fields of a Pod's spec by their class. Those with a rule of
// their own are in podSpec; harmless ones have no class; any other is ClassOther.
func podFields() map[string]Class {
	return map[string]Class{
		"volumes": ClassVolumes, "resourceClaims": ClassVolumes,
		"serviceAccountName": ClassServiceAccount, "serviceAccount": ClassServiceAccount,
		"imagePullSecrets": ClassServiceAccount,
		"nodeName":         ClassScheduling, "nodeSelector": ClassScheduling, "tolerations": ClassScheduling,
		"schedulerName":     ClassScheduling,
		"priorityClassName": ClassScheduling, "priority": ClassScheduling, "preemptionPolicy": ClassScheduling,
		"runtimeClassName": ClassScheduling, "overhead": ClassScheduling, "schedulingGates": ClassScheduling,
		"dnsPolicy": ClassNetwork, "dnsConfig": ClassNetwork, "hostAliases": ClassNetwork, "hostname": ClassNetwork,
		"subdomain": ClassNetwork, "setHostnameAsFQDN": ClassNetwork, "hostnameOverride": ClassNetwork,
		"resources": "", "terminationGracePeriodSeconds": "", "activeDeadlineSeconds": "", "restartPolicy": "",
		"topologySpreadConstraints": "", "readinessGates": "",
	}
}

func containerFields() map[string]Class {
	return map[string]Class{
		"image": ClassImage, "command": ClassCommand, "args": ClassCommand, "workingDir": ClassCommand,
		"stdin": ClassCommand, "stdinOnce": ClassCommand, "tty": ClassCommand, "targetContainerName": ClassCommand,
		"env": ClassEnvironment, "envFrom": ClassEnvironment,
		"volumeDevices": ClassVolumes, "terminationMessagePath": ClassVolumes,
		"name": "", "resizePolicy": "", "terminationMessagePolicy": "", "restartPolicy": "", "restartPolicyRules": "",
	}
}
