// SPDX-License-Identifier: Apache-2.0

package webhooktest

// NoShells denies what opens a shell in a container.
const NoShells = `package evenkeel.test.shells

deny contains {"msg": sprintf("%s runs %s", [input.request.userInfo.username, input.object.command[0]]), "path": "/command"} if {
	input.request.operation == "CONNECT"
	input.request.subResource == "exec"
	input.request.resource == {"group": "", "version": "v1", "resource": "pods"}
	input.review.namespaceObject.metadata.name == "shop"
}
`
