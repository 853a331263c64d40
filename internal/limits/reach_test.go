// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("the test's own object: %v", err)
	}
	return out
}

// deployment is one with the pod spec given, as YAML in flow style.
func deployment(t *testing.T, podSpec string) map[string]any {
	t.Helper()
	return object(
		t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec: `+
			podSpec+`}}}`)
}

const plain = `containers: [{name: web, image: web:1}]`

func TestFixesSetFieldsThatGivePowerOnlyWhereAClassAllowsIt(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after string
		class         Class
	}{
		"another image": {"it is other code", plain, `containers: [{name: web, image: evil:1}]`,
			ClassImage},
		"one more container": {
			"it is other code", plain, `containers: [{name: web, image: web:1}, {name: more}]`, ClassImage},
		"one container less": {"it may have been the guard", `containers: [{name: web}, {name: guard}]`,
			`containers: [{name: web}]`, ClassImage},
		"init containers reordered": {
			"the order is behaviour", `containers: [{name: w}], initContainers: [{name: a}, {name: b}]`,
			`containers: [{name: w}], initContainers: [{name: b}, {name: a}]`, ClassImage},
		"two containers of one name": {
			"nobody can say which is which", plain, `containers: [{name: web, image: web:1}, {name: web, image: evil}]`,
			ClassImage},
		"another command": {
			"it is other code", plain, `containers: [{name: web, image: web:1, command: [sh]}]`, ClassCommand},
		"another argument": {
			"it is other code", plain, `containers: [{name: web, image: web:1, args: [--insecure]}]`, ClassCommand},
		"a hook that runs something": {
			"it is code", plain,
			`containers: [{name: web, image: web:1, lifecycle: {postStart: {exec: {command: [sh]}}}}]`, ClassCommand},
		"a hook that calls somewhere": {
			"the kubelet calls", plain,
			`containers: [{name: web, image: web:1, lifecycle: {preStop: {httpGet: {host: 10.0.0.1, port: 80}}}}]`,
			ClassCommand},
		"a probe that runs something": {
			"it is code", plain, `containers: [{name: web, image: web:1, livenessProbe: {exec: {command: [sh]}}}]`,
			ClassCommand},
		"a probe of another host": {
			"the kubelet calls", plain,
			`containers: [{name: web, image: web:1, livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}}}]`,
			ClassNetwork},
		"an environment variable": {
			"LD_PRELOAD is code", plain,
			`containers: [{name: web, image: web:1, env: [{name: LD_PRELOAD, value: /x}]}]`, ClassEnvironment},
		"a Secret as environment": {
			"it is read", plain, `containers: [{name: web, image: web:1, envFrom: [{secretRef: {name: s}}]}]`,
			ClassEnvironment},
		"a hostPath": {"it is the node", plain, `volumes: [{name: h, hostPath: {path: /}}], ` + plain,
			ClassVolumes},
		"a projected token": {
			"it is an identity", plain,
			`volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}], ` + plain, ClassVolumes},
		"a mount": {
			"it shows a volume", plain,
			`containers: [{name: web, image: web:1, volumeMounts: [{name: h, mountPath: /h}]}]`, ClassVolumes},
		"a mount that may be written": {
			"it was read-only", `containers: [{name: w, volumeMounts: [{name: h, readOnly: true}]}]`,
			`containers: [{name: w, volumeMounts: [{name: h, readOnly: false}]}]`, ClassVolumes},
		"a device": {
			"it is hardware", plain, `containers: [{name: web, image: web:1, resources: {claims: [{name: gpu}]}}]`,
			ClassVolumes},
		"another service account": {"it is an identity", plain, `serviceAccountName: admin, ` + plain,
			ClassServiceAccount},
		"the old name of that field": {"the server takes it too", plain, `serviceAccount: admin, ` + plain,
			ClassServiceAccount},
		"a token mounted": {"it is an identity", `automountServiceAccountToken: false, ` + plain, plain,
			ClassServiceAccount},
		"pull credentials": {"they are credentials", plain, `imagePullSecrets: [{name: s}], ` + plain,
			ClassServiceAccount},
		"privileged": {
			"it is the node", plain, `containers: [{name: web, image: web:1, securityContext: {privileged: true}}]`,
			ClassSecurityContext},
		"privilege escalation allowed": {
			"it wasn't", `containers: [{name: w, securityContext: {allowPrivilegeEscalation: false}}]`,
			`containers: [{name: w}]`, ClassSecurityContext},
		"root may be written": {
			"it couldn't", `containers: [{name: w, securityContext: {readOnlyRootFilesystem: true}}]`,
			`containers: [{name: w, securityContext: {readOnlyRootFilesystem: false}}]`, ClassSecurityContext},
		"a container out of its Pod": {
			"the Pod forbids root", `securityContext: {runAsNonRoot: true}, containers: [{name: w}]`,
			`securityContext: {runAsNonRoot: true}, containers: [{name: w, securityContext: {runAsNonRoot: false}}]`,
			ClassSecurityContext},
		"user 0": {"it is root", plain, `securityContext: {runAsUser: 0}, ` + plain,
			ClassSecurityContext},
		"another user's number": {"it may own files", `securityContext: {runAsUser: 1000}, ` + plain,
			`securityContext: {runAsUser: 2000}, ` + plain, ClassSecurityContext},
		"a user no longer said": {"the image may say root", `securityContext: {runAsUser: 1000}, ` + plain,
			plain, ClassSecurityContext},
		"a group of files": {"it opens files", plain, `securityContext: {fsGroup: 1}, ` + plain,
			ClassSecurityContext},
		"a capability": {
			"it is power", plain,
			`containers: [{name: web, image: web:1, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]`,
			ClassSecurityContext},
		"fewer dropped": {
			"it was dropped", `containers: [{name: w, securityContext: {capabilities: {drop: [ALL]}}}]`,
			`containers: [{name: w, securityContext: {capabilities: {drop: [NET_RAW]}}}]`, ClassSecurityContext},
		"no seccomp": {
			"it was confined", `securityContext: {seccompProfile: {type: RuntimeDefault}}, ` + plain, plain,
			ClassSecurityContext},
		"a profile of the node's": {
			"it may allow all", plain, `securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}, ` +
				plain, ClassSecurityContext},
		"an SELinux type": {
			"spc_t is no confinement", plain, `securityContext: {seLinuxOptions: {type: spc_t}}, ` + plain,
			ClassSecurityContext},
		"a host process": {
			"it is the node", plain, `securityContext: {windowsOptions: {hostProcess: true}}, ` + plain,
			ClassSecurityContext},
		"a sysctl": {
			"it may be the node's", plain, `securityContext: {sysctls: [{name: net.x, value: "1"}]}, ` + plain,
			ClassSecurityContext},
		"an unmasked /proc": {
			"it is the node", plain, `containers: [{name: web, image: web:1, securityContext: {procMount: Unmasked}}]`,
			ClassSecurityContext},
		"the node's network": {"it is the node", plain, `hostNetwork: true, ` + plain, ClassHost},
		"the node's users":   {"it had its own", `hostUsers: false, ` + plain, plain, ClassHost},
		"a port of the node": {
			"it is the node", plain,
			`containers: [{name: web, image: web:1, ports: [{containerPort: 1, hostPort: 1}]}]`, ClassHost},
		"a toleration": {
			"it leads to other nodes", plain, `tolerations: [{operator: Exists}], ` + plain, ClassScheduling},
		"a node": {"it passes by the scheduler", plain, `nodeName: control-plane, ` + plain,
			ClassScheduling},
		"a runtime class": {"it may be no sandbox", plain, `runtimeClassName: runc, ` + plain,
			ClassScheduling},
		"an affinity to nodes": {"it leads to other nodes", plain, `affinity: {nodeAffinity: {x: 1}}, ` + plain,
			ClassScheduling},
		"another DNS": {
			"names lead elsewhere", plain, `dnsConfig: {nameservers: [10.6.6.6]}, ` + plain, ClassNetwork},
		"names of hosts": {
			"names lead elsewhere", plain, `hostAliases: [{ip: 10.6.6.6, hostnames: [db]}], ` + plain, ClassNetwork},
		"a field of a later version": {"nobody knows what it does", plain, `powerOfTomorrow: true, ` + plain,
			ClassOther},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := deployment(t, `{`+c.before+`}`), deployment(t, `{`+c.after+`}`)
			none, one := &Reach{}, &Reach{Fields: []Class{c.class}}
			why := none.Update(before, after)
			if !strings.Contains(why, string(c.class)) || !strings.Contains(why, FlagFields) {
				t.Errorf("%s: got %q; want a refusal that names %s", c.reason, why, c.class)
			}
			if why := one.Update(before, after); why != "" {
				t.Errorf("with %s allowed: got %q", c.class, why)
			}
			if why := (&Reach{Fields: []Class{ClassAll}}).Update(before, after); why != "" {
				t.Errorf("with all allowed: got %q", why)
			}
		})
	}
}

func TestFixesThatIsolateMoreOrMoveNoPowerNeedNoFlag(t *testing.T) {
	cases := map[string]struct{ before, after string }{
		"privilege escalation forbidden": {
			plain, `containers: [{name: web, image: web:1, securityContext: {allowPrivilegeEscalation: false}}]`},
		"no longer privileged": {`containers: [{name: w, securityContext: {privileged: true}}]`,
			`containers: [{name: w, securityContext: {privileged: false}}]`},
		"all capabilities dropped": {
			`containers: [{name: w, securityContext: {capabilities: {add: [NET_ADMIN], drop: [CHOWN]}}}]`,
			`containers: [{name: w, securityContext: {capabilities: {drop: [ALL]}}}]`},
		"not as root": {
			plain,
			`securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, seccompProfile: {type: RuntimeDefault}}, ` + plain},
		"a read-only root": {
			plain, `containers: [{name: web, image: web:1, securityContext: {readOnlyRootFilesystem: true}}]`},
		"out of the node's namespaces": {`hostNetwork: true, hostPID: true, hostIPC: true, ` + plain, plain},
		"no token":                     {plain, `automountServiceAccountToken: false, ` + plain},
		"resources": {
			plain, `containers: [{name: web, image: web:1, resources: {limits: {memory: 1Gi}}}]`},
		"a mount made read-only": {`containers: [{name: w, volumeMounts: [{name: h}]}]`,
			`containers: [{name: w, volumeMounts: [{name: h, readOnly: true}]}]`},
		"a probe of its own port": {
			plain,
			`containers: [{name: web, image: web:1, readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 3}}]`},
		"a wait before it stops": {
			plain, `containers: [{name: web, image: web:1, lifecycle: {preStop: {sleep: {seconds: 5}}}}]`},
		"Pods spread and kept apart": {
			plain, `topologySpreadConstraints: [{maxSkew: 1}], affinity: {podAntiAffinity: {x: 1}}, ` + plain},
		"always pulled": {plain, `containers: [{name: web, image: web:1, imagePullPolicy: Always}]`},
		"a port of the node given back": {`containers: [{name: w, ports: [{containerPort: 1, hostPort: 1}]}]`,
			`containers: [{name: w, ports: [{containerPort: 1}]}]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if why := (&Reach{}).Update(deployment(t, `{`+c.before+`}`), deployment(t, `{`+c.after+`}`)); why != "" {
				t.Errorf("got %q; want no refusal", why)
			}
		})
	}
}

func TestPodsAreFoundWhereverTheyAre(t *testing.T) {
	cases := map[string]string{
		"a Pod":                        `{apiVersion: v1, kind: Pod, spec: {containers: [{name: w, image: %s}]}}`,
		"a CronJob":                    `{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: w, image: %s}]}}}}}}`,
		"a template in a list":         `{apiVersion: x.example.com/v1, kind: Set, spec: {groups: [{template: {spec: {containers: [{name: w, image: %s}]}}}]}}`,
		"a custom kind with one field": `{apiVersion: x.example.com/v1, kind: Database, spec: {image: %s}}`,
		"a field named nearly so":      `{apiVersion: x.example.com/v1, kind: Database, spec: {backup: {kubectlImage: %s}}}`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, strings.Replace(text, "%s", "a", 1)),
				object(t, strings.Replace(text, "%s", "b", 1))
			if why := (&Reach{}).Update(before, after); !strings.Contains(why, string(ClassImage)) {
				t.Errorf("update: got %q", why)
			}
			if why := (&Reach{}).Create(after); !strings.Contains(why, string(ClassImage)) {
				t.Errorf("create: got %q", why)
			}
		})
	}
}

func TestOtherFieldsOfPower(t *testing.T) {
	cases := map[string]struct {
		before, after string
		class         Class
	}{
		"a snippet for the ingress controller": {`{kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {}}`,
			`{kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {annotations: {nginx.ingress.kubernetes.io/configuration-snippet: x}}}`, ClassMetadata},
		"a sidecar injected into Pods": {
			`{kind: Deployment, apiVersion: apps/v1, spec: {template: {metadata: {labels: {a: b}}}}}`,
			`{kind: Deployment, apiVersion: apps/v1, spec: {template: {metadata: {labels: {a: b, sidecar.istio.io/inject: "true"}}}}}`, ClassMetadata},
		"Evenkeel's own word on an object": {
			`{kind: ConfigMap, apiVersion: v1, metadata: {annotations: {evenkeel.dev/remediation: x}}}`,
			`{kind: ConfigMap, apiVersion: v1, metadata: {}}`, ClassMetadata},
		"an owner that is missing": {`{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}`,
			`{kind: ConfigMap, apiVersion: v1, metadata: {name: a, ownerReferences: [{uid: gone}]}}`, ClassOwnership},
		"a finalizer taken off": {`{kind: ConfigMap, apiVersion: v1, metadata: {finalizers: [x/y]}}`,
			`{kind: ConfigMap, apiVersion: v1, metadata: {}}`, ClassOwnership},
		"a Service that leads elsewhere": {`{kind: Service, apiVersion: v1, spec: {selector: {app: a}}}`,
			`{kind: Service, apiVersion: v1, spec: {selector: {app: b}}}`, ClassNetwork},
		"a Service with an outside address": {`{kind: Service, apiVersion: v1, spec: {}}`,
			`{kind: Service, apiVersion: v1, spec: {externalIPs: [8.8.8.8]}}`, ClassNetwork},
		"a Service with such a status": {`{kind: Service, apiVersion: v1, spec: {}}`,
			`{kind: Service, apiVersion: v1, spec: {}, status: {loadBalancer: {ingress: [{ip: 8.8.8.8}]}}}`,
			ClassNetwork},
		"a network policy that lets in": {
			`{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {podSelector: {}}}`,
			`{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {podSelector: {}, ingress: [{}]}}`,
			ClassNetwork},
		"a custom kind's privileged switch": {`{kind: Agent, apiVersion: x.example.com/v1, spec: {privileged: false}}`,
			`{kind: Agent, apiVersion: x.example.com/v1, spec: {privileged: true}}`, ClassSecurityContext},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, c.before), object(t, c.after)
			if why := (&Reach{}).Update(before, after); !strings.Contains(why, string(c.class)) {
				t.Errorf("got %q; want a refusal that names %s", why, c.class)
			}
			if why := (&Reach{Fields: []Class{c.class}}).Update(before, after); why != "" {
				t.Errorf("with %s allowed: got %q", c.class, why)
			}
		})
	}
}

func TestHarmlessFieldsNeedNoFlag(t *testing.T) {
	cases := map[string]struct{ before, after string }{
		"data of a ConfigMap": {`{kind: ConfigMap, apiVersion: v1, data: {image: a}}`,
			`{kind: ConfigMap, apiVersion: v1, data: {image: b}}`},
		"an owner's label": {`{kind: Service, apiVersion: v1, metadata: {}}`,
			`{kind: Service, apiVersion: v1, metadata: {labels: {evenkeel.dev/owner: shop, team: shop, app.kubernetes.io/part-of: shop, acme.example/tier: x}}}`},
		"replicas": {`{kind: Deployment, apiVersion: apps/v1, spec: {replicas: 1}}`,
			`{kind: Deployment, apiVersion: apps/v1, spec: {replicas: 3}}`},
		"a restart": {`{kind: Deployment, apiVersion: apps/v1, spec: {template: {metadata: {}}}}`,
			`{kind: Deployment, apiVersion: apps/v1, spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`},
		"a Service exposed no longer": {
			`{kind: Service, apiVersion: v1, spec: {type: NodePort, externalIPs: [1.2.3.4]}}`,
			`{kind: Service, apiVersion: v1, spec: {type: ClusterIP}}`},
		"the condition of a certificate": {`{kind: Certificate, apiVersion: cert-manager.io/v1, status: {}}`,
			`{kind: Certificate, apiVersion: cert-manager.io/v1, status: {conditions: [{type: Issuing}]}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if why := (&Reach{}).Update(object(t, c.before), object(t, c.after)); why != "" {
				t.Errorf("got %q; want no refusal", why)
			}
		})
	}
	closed := object(
		t,
		`{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, metadata: {name: deny, namespace: shop}, spec: {podSelector: {}, policyTypes: [Ingress]}}`)
	if why := (&Reach{}).Create(closed); why != "" {
		t.Errorf("a network policy that lets nothing through: got %q", why)
	}
	if why := (&Reach{}).Remove(closed); !strings.Contains(why, string(ClassNetwork)) {
		t.Errorf("a network policy deleted: got %q", why)
	}
}

func TestProtectedNamespacesAndKinds(t *testing.T) {
	reach := &Reach{Exempt: []string{"kube-system", "evenkeel-system"}}
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	if why := reach.Object(deployments, "kube-system"); !strings.Contains(why, FlagNamespaces) {
		t.Errorf("an exempt namespace: got %q", why)
	}
	if why := reach.Object(deployments, "shop"); why != "" {
		t.Errorf("another namespace: got %q", why)
	}
	if why := reach.Target(deployments, "kube-system", "web", true); !strings.Contains(why, FlagNamespaces) {
		t.Errorf("creating beside an object of an exempt namespace: got %q", why)
	}
	namespaces := schema.GroupKind{Kind: "Namespace"}
	if why := reach.Target(namespaces, "", "kube-system", true); !strings.Contains(why, FlagNamespaces) {
		t.Errorf("creating in an exempt Namespace: got %q", why)
	}
	if why := reach.Target(namespaces, "", "shop", true); why != "" {
		t.Errorf("creating in another Namespace: got %q", why)
	}
	open := &Reach{Kinds: []schema.GroupKind{namespaces}, Exempt: reach.Exempt}
	if why := open.Target(namespaces, "", "kube-system", false); why != "" {
		t.Errorf("changing a Namespace, with the flag: got %q", why)
	}
	others := schema.GroupKind{Group: "example.com", Kind: "Namespace"}
	if why := reach.Target(others, "", "kube-system", true); why != "" {
		t.Errorf("another kind of that name: got %q", why)
	}
	waivers := schema.GroupKind{Group: ownGroup, Kind: "Waiver"}
	if why := reach.Target(waivers, "", "legacy", true); !strings.Contains(why, "own kinds") {
		t.Errorf("creating because of one of our own kinds: got %q", why)
	}
	if why := (&Reach{Exempt: reach.Exempt, Namespaces: []string{"kube-system"}}).Object(
		deployments, "kube-system"); why != "" {
		t.Errorf("with the flag: got %q", why)
	}
	for _, gk := range []schema.GroupKind{
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Kind: "APIService"},
		{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}, {Kind: "ServiceAccount"},
		{Kind: "Namespace"}, {Kind: "Node"},
		{Group: "management.cattle.io", Kind: "ProjectRoleTemplateBinding"},
		{Group: "iam.example.com", Kind: "GlobalRole"},
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"},
		{Group: "constraints.gatekeeper.sh", Kind: "K8sPSPCapabilities"},
	} {
		if why := reach.Object(gk, ""); !strings.Contains(why, FlagKinds) {
			t.Errorf("%s: got %q", gk, why)
		}
		if why := reach.Target(gk, "", "x", true); why != "" {
			t.Errorf("%s, of which nothing is written: got %q", gk, why)
		}
		allowed := &Reach{Kinds: []schema.GroupKind{gk}}
		if why := allowed.Object(gk, ""); why != "" || allowed.Validate() != nil {
			t.Errorf("%s with the flag: got %q, %v", gk, why, allowed.Validate())
		}
	}
	own := schema.GroupKind{Group: "evenkeel.dev", Kind: "ClusterRegoPolicy"}
	if why := (&Reach{Kinds: []schema.GroupKind{own}}).Object(own, ""); why == "" {
		t.Error("Evenkeel's own kinds are opened by a flag")
	}
	for _, wrong := range []Reach{{Fields: []Class{"images"}}, {Kinds: []schema.GroupKind{own}},
		{Kinds: []schema.GroupKind{deployments}}} {
		if wrong.Validate() == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func TestCreatedPodsNeedEveryClassThatTheyUse(t *testing.T) {
	pod := object(
		t,
		`{kind: Pod, apiVersion: v1, metadata: {name: p, namespace: shop}, spec: {serviceAccountName: admin, hostPID: true, containers: [{name: w, image: i, securityContext: {privileged: true}}]}}`)
	reach := &Reach{}
	for _, class := range []Class{ClassImage, ClassSecurityContext, ClassHost, ClassServiceAccount} {
		if why := reach.Create(pod); why == "" {
			t.Fatalf("allowed with %v alone", reach.Fields)
		}
		reach.Fields = append(reach.Fields, class)
	}
	if why := reach.Create(pod); why != "" {
		t.Errorf("with every class: got %q", why)
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for name, after := range map[string]string{
		"a security context that is text": `containers: [{name: web, image: web:1, securityContext: none}]`,
		"ports that are an object":        `containers: [{name: web, image: web:1, ports: {a: b}}]`,
		"a host port that is an object":   `containers: [{name: web, image: web:1, ports: [{hostPort: {a: [b]}}]}]`,
		"containers that are text":        `containers: none`,
		"capabilities that are text":      `containers: [{name: web, image: web:1, securityContext: {capabilities: all}}]`,
		"a list of one that isn't named":  `containers: [{image: web:1}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if why := (&Reach{}).Update(deployment(t, `{`+plain+`}`), deployment(t, `{`+after+`}`)); why == "" {
				t.Error("it passes")
			}
		})
	}
}

// Calico's API server serves its kinds under projectcalico.org itself, its CRDs under
// crd.projectcalico.org; SIG Network's policies of the whole cluster have a group of their own.
func TestPoliciesOfTheNetworkAreProtectedUnderEveryGroupThatServesThem(t *testing.T) {
	for _, gk := range []schema.GroupKind{
		{Group: "projectcalico.org", Kind: "GlobalNetworkPolicy"},
		{Group: "crd.projectcalico.org", Kind: "GlobalNetworkPolicy"},
		{Group: "policy.networking.k8s.io", Kind: "AdminNetworkPolicy"},
		{Group: "cilium.io", Kind: "CiliumNetworkPolicy"},
	} {
		if (&Reach{}).Kind(gk) == "" {
			t.Errorf("a fix may write %s", gk)
		}
	}
	if why := (&Reach{}).Kind(schema.GroupKind{Group: "notprojectcalico.org", Kind: "Widget"}); why != "" {
		t.Errorf("a group that only ends alike: %s", why)
	}
}
