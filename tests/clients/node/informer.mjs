// An informer over PyTorchJobs, a client of any kind and typed clients, as users write them.
//
// It prints a JSON line for each thing that happens, and obeys words on standard input: `list`
// prints what the informer holds, `crud` runs a session of calls, `end` stops the informer. When
// the connection is lost it starts again, as the library's documentation tells to do.
import {createInterface} from 'node:readline';
import {
	BatchV1Api, CoreV1Api, CustomObjectsApi, KubeConfig, KubernetesObjectApi, PatchStrategy,
	makeInformer,
} from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromDefault();
const where = {group: 'kubeflow.org', version: 'v1', namespace: 'default', plural: 'pytorchjobs'};
const custom = config.makeApiClient(CustomObjectsApi);
const restartAfter = 50; // milliseconds

function say(what, more) {
	console.log(JSON.stringify({what, ...more}));
}

function watchJobs() {
	const informer = makeInformer(config, '/apis/kubeflow.org/v1/namespaces/default/pytorchjobs',
		() => custom.listNamespacedCustomObject(where));
	for (const verb of ['add', 'update', 'delete'])
		informer.on(verb, (o) => say(verb, {
			name: o.metadata.name,
			revision: o.metadata.resourceVersion,
			state: o.status?.conditions?.at(-1)?.type,
		}));
	informer.on('connect', () => say('connect'));
	informer.on('error', (error) => {
		say('error', {text: String(error)});
		setTimeout(() => informer.start(), restartAfter);
	});
	return informer;
}

function expect(holds, sentence, detail) {
	if (!holds)
		throw new Error(`not so: ${sentence}: ${JSON.stringify(detail)}`);
	say('holds', {sentence});
}

async function refused(code, sentence, call) {
	try {
		await call();
	} catch (error) {
		expect(error.code === code, sentence, {code: error.code, body: error.body});
		return JSON.parse(error.body);
	}
	throw new Error(`not refused: ${sentence}`);
}

function deleted(name) {
	return new Promise((go) => informer.on('delete', (o) => o.metadata.name === name && go()));
}

// Any kind, found by discovery.
async function anyKind() {
	const api = KubernetesObjectApi.makeApiClient(config);
	const job = {
		apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob',
		metadata: {name: 'any', namespace: 'default'},
		spec: {
			runPolicy: {suspend: true},
			pytorchReplicaSpecs: {Master: {template: {spec: {
				containers: [{name: 'pytorch', image: 'registry.example/train:1'}],
			}}}},
		},
	};
	const made = await api.create(job);
	expect(made.metadata.uid && made.spec.pytorchReplicaSpecs.Master.replicas === 1,
		'a job is made by its kind', made);
	await refused(409, 'made again', () => api.create(job));
	const merged = await api.patch({...job, metadata: {...job.metadata, labels: {a: 'b'}}},
		undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
	expect(merged.metadata.labels.a === 'b', 'a merge patch', merged.metadata);
	const applied = await api.patch(
		{...job, metadata: {...job.metadata, annotations: {note: 'mine'}}},
		undefined, undefined, 'node', true, PatchStrategy.ServerSideApply);
	expect(applied.metadata.annotations.note === 'mine' && applied.metadata.labels.a === 'b' &&
		applied.metadata.managedFields.some((m) => m.manager === 'node' &&
			m.operation === 'Apply'), 'server-side apply', applied.metadata);
	const listed = await api.list('kubeflow.org/v1', 'PyTorchJob', 'default');
	expect(listed.items.some((o) => o.metadata.name === 'any'), 'listed by its kind', listed);
	const end = deleted('any');
	await api.delete(job);
	await end; // a job has the hub's finalizer: it goes when no member can run it
	await refused(404, 'read when gone', () => api.read(job));
}

async function typed() {
	const core = config.makeApiClient(CoreV1Api);
	const made = await core.createNamespacedConfigMap(
		{namespace: 'default', body: {metadata: {generateName: 'n-'}, data: {a: '1'}}});
	const name = made.metadata.name;
	expect(name.startsWith('n-') && made.metadata.creationTimestamp instanceof Date,
		'a ConfigMap with a generated name', made);
	const patched = await core.patchNamespacedConfigMap(
		{name, namespace: 'default', body: [{op: 'replace', path: '/data/a', value: '2'}]});
	expect(patched.data.a === '2', 'a JSON patch', patched);
	await core.deleteNamespacedConfigMap({name, namespace: 'default'});
	const batch = config.makeApiClient(BatchV1Api);
	const job = await batch.createNamespacedJob({namespace: 'default', body: {
		metadata: {name: 'typed'},
		spec: {suspend: true, template: {spec: {
			restartPolicy: 'Never', containers: [{name: 'main', image: 'registry.example/x:1'}],
		}}},
	}});
	expect(job.spec.backoffLimit === 6 && job.spec.suspend, 'a Job with its defaults', job.spec);
	await batch.deleteNamespacedJob(
		{name: 'typed', namespace: 'default', propagationPolicy: 'Background'});
	const status = await refused(403, 'nothing beyond the Role',
		() => core.listNamespacedSecret({namespace: 'default'}));
	expect(status.reason === 'Forbidden' && status.details.kind === 'secrets', 'and told so',
		status);
}

const informer = watchJobs();
createInterface(process.stdin).on('line', async (line) => {
	try {
		if (line === 'list') {
			say('list', {names: informer.list().map((o) => o.metadata.name).sort()});
		} else if (line === 'crud') {
			await anyKind();
			await typed();
			say('done');
		} else if (line === 'end') {
			await informer.stop();
			process.exit(0);
		}
	} catch (error) {
		say('failed', {text: String(error.stack)});
	}
});
await informer.start();
say('started');
