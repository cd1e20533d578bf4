// Holds a record of REST exchanges against GitHub's published OpenAPI description.
//
//   node validate-openapi.mjs DESCRIPTION.json RECORD.jsonl
//
// A record holds one exchange a line: {"method","path","body"?,"status","response"?}.
// Requests are held strictly: the operation, its query parameters, its body and every
// property in it must be documented. Answers come from our emulator, which leaves out
// what nobody reads: the properties that are there must have their documented types.
// Exits 1 when an exchange does not hold, and when there is none.
// Needs `ajv` and `ajv-formats` to be resolvable from the working folder.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'package.json'));
const Ajv = require('ajv/dist/2020').default;
const addFormats = require('ajv-formats').default;

/** What any operation may answer, documented there or not: redirects (of renamed repositories) and errors. */
const ANYWHERE = new Set([301, 302, 307, 400, 401, 403, 404, 429, 500, 502, 503]);
/** Path parameters whose value may hold slashes. */
const MANY_SEGMENTS = new Set(['{path}', '{ref}', '{basehead}']);
const ERRORS_SHOWN = 5;
/** Properties that GitHub answers as null although its description does not say so. */
const ALSO_NULL = {
  // A comment whose line the pull request's diff does not show any more.
  'pull-request-review-comment': ['line', 'position'],
};

/** Rewrites every schema object of a document in place, children first. */
function rewrite(node, change) {
  if (Array.isArray(node)) {
    for (const child of node) rewrite(child, change);
  } else if (node && typeof node === 'object') {
    for (const child of Object.values(node)) rewrite(child, change);
    change(node);
  }
}

/** OpenAPI 3.0 writes `nullable`, JSON Schema a type of `null`. */
function allowNull(schema) {
  if (schema.nullable !== true) return;
  delete schema.nullable;
  if (typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum.push(null);
  for (const choice of ['oneOf', 'anyOf']) {
    if (schema[choice]) schema[choice].push({ type: 'null' });
  }
  if (schema.allOf) {
    schema.anyOf = [{ allOf: schema.allOf }, { type: 'null' }];
    delete schema.allOf;
  }
}

/** Lets properties be absent. Then more than one choice may fit. */
function allowAbsence(schema) {
  if (Array.isArray(schema.required)) delete schema.required;
  if (Array.isArray(schema.oneOf)) {
    schema.anyOf = [...(schema.anyOf ?? []), ...schema.oneOf];
    delete schema.oneOf;
  }
}

class Description {
  constructor(text, ...changes) {
    this.document = JSON.parse(text);
    for (const [schema, properties] of Object.entries(ALSO_NULL)) {
      for (const property of properties) this.document.components.schemas[schema].properties[property].nullable = true;
    }
    for (const change of changes) {
      rewrite(this.document.paths, change);
      rewrite(this.document.components, change);
    }
    this.ajv = new Ajv({ strict: false, allErrors: true, logger: false });
    addFormats(this.ajv);
    this.ajv.addSchema(this.document, 'description');
    this.compiled = new Map();
  }

  /** Follows a reference within the document. */
  at(node) {
    if (!node?.$ref) return node;
    const steps = node.$ref.slice(2).split('/').map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
    return this.at(steps.reduce((here, step) => here[step], this.document));
  }

  /** What is wrong with `value` under the schema that `steps` lead to. */
  faults(steps, value, name) {
    const pointer = steps.map((s) => encodeURIComponent(s.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    if (!this.compiled.has(pointer)) {
      this.compiled.set(pointer, this.ajv.compile({ $ref: `description#/${pointer}` }));
    }
    const validate = this.compiled.get(pointer);
    if (validate(value)) return [];
    return validate.errors
      .slice(0, ERRORS_SHOWN)
      .map((e) => `${name}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
  }
}

/** Finds the operation of a path: the template with the most literal segments. */
class Routes {
  constructor(paths) {
    this.templates = Object.keys(paths).map((template) => ({ template, parts: template.split('/').slice(1) }));
    const literals = ({ parts }) => parts.filter((part) => !part.startsWith('{')).length;
    this.templates.sort((a, b) => literals(b) - literals(a));
  }

  static matches(parts, segments) {
    if (parts.length === 0) return segments.length === 0;
    if (segments.length === 0) return false;
    const [part, ...rest] = parts;
    if (MANY_SEGMENTS.has(part)) {
      return segments.some((_, taken) => Routes.matches(rest, segments.slice(taken + 1)));
    }
    const fits = part.startsWith('{') ? segments[0] !== '' : part === segments[0];
    return fits && Routes.matches(rest, segments.slice(1));
  }

  find(path, hasMethod) {
    const segments = path.split('/').slice(1);
    return this.templates.find(({ template, parts }) => hasMethod(template) && Routes.matches(parts, segments))?.template;
  }
}

/** Properties of a body that its schema does not name. */
function undocumented(description, schema, body, name) {
  const here = description.at(schema);
  if (!here || !body || typeof body !== 'object') return [];
  if (Array.isArray(body)) {
    return here.items ? body.flatMap((entry, i) => undocumented(description, here.items, entry, `${name}/${i}`)) : [];
  }
  const choices = [here, ...(here.oneOf ?? []), ...(here.anyOf ?? []), ...(here.allOf ?? [])].map((s) => description.at(s));
  if (!choices.some((choice) => choice.properties)) return [];
  return Object.entries(body).flatMap(([key, value]) => {
    const known = choices.find((choice) => choice.properties?.[key]);
    return known
      ? undocumented(description, known.properties[key], value, `${name}/${key}`)
      : [`${name}/${key} is not a documented property`];
  });
}

class Judge {
  constructor(text) {
    this.requests = new Description(text, allowNull);
    this.answers = new Description(text, allowNull, allowAbsence);
    this.routes = new Routes(this.requests.document.paths);
  }

  /** Everything wrong with one exchange. */
  faults({ method, path, body, status, response }) {
    const verb = method.toLowerCase();
    const [bare, query] = path.split('?');
    const { paths } = this.requests.document;
    const template = this.routes.find(bare, (candidate) => paths[candidate][verb]);
    if (!template) return ['no such operation is documented'];
    const item = paths[template];
    const operation = item[verb];
    const steps = ['paths', template, verb];
    return [
      ...this.query(item, operation, query),
      ...this.body(operation, steps, body),
      ...this.answer(operation, steps, status, response),
    ];
  }

  query(item, operation, query) {
    const all = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((p) => this.requests.at(p));
    const known = new Set(all.filter((p) => p.in === 'query').map((p) => p.name));
    const given = [...new URLSearchParams(query ?? '').keys()];
    return given.filter((name) => !known.has(name)).map((name) => `unknown query parameter ${name}`);
  }

  body(operation, steps, body) {
    const documented = this.requests.at(operation.requestBody);
    const sent = body !== undefined && body !== null;
    if (!documented) return sent ? ['a body was sent, and none is documented'] : [];
    if (!sent) return documented.required ? ['a body is required'] : [];
    const json = documented.content?.['application/json'];
    if (!json) return [];
    const schema = [...steps, 'requestBody', 'content', 'application/json', 'schema'];
    return [...this.requests.faults(schema, body, 'body'), ...undocumented(this.requests, json.schema, body, 'body')];
  }

  answer(operation, steps, status, response) {
    const documented = operation.responses?.[status];
    if (!documented) return ANYWHERE.has(status) ? [] : [`status ${status} is not documented`];
    const json = this.answers.at(documented).content?.['application/json'];
    if (response === undefined || !json?.schema) return [];
    const shared = documented.$ref?.slice(2).split('/');
    const schema = [...(shared ?? [...steps, 'responses', String(status)]), 'content', 'application/json', 'schema'];
    return this.answers.faults(schema, response, 'response');
  }
}

const [description, record] = process.argv.slice(2);
if (!description || !record) {
  console.error('usage: node validate-openapi.mjs DESCRIPTION.json RECORD.jsonl');
  process.exit(2);
}
const judge = new Judge(readFileSync(description, 'utf8'));
const lines = readFileSync(record, 'utf8').split('\n').filter((line) => line.trim());
const bad = new Map();
for (const line of lines) {
  const exchange = JSON.parse(line);
  const faults = judge.faults(exchange);
  // One exchange of a kind is enough to read.
  if (faults.length) {
    const key = `${exchange.method} ${exchange.path} -> ${exchange.status}\n  ${faults.join('\n  ')}`;
    bad.set(key, (bad.get(key) ?? 0) + 1);
  }
}
for (const [key, times] of bad) console.log(times > 1 ? `${key}\n  (${times} times)` : key);
console.log(`${lines.length} exchanges, ${[...bad.values()].reduce((a, b) => a + b, 0)} do not hold`);
process.exitCode = lines.length > 0 && bad.size === 0 ? 0 : 1;
