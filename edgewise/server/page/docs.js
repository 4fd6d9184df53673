// SPDX-License-Identifier: Apache-2.0
// Writes the description of the interfaces, OpenAPI 3, as a page.
import { fetchJson } from "./server.js";

const place = document.getElementById("interfaces");
const kMethods = ["get", "post"];

function make(name, ...children) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

function table(caption, heads, rows) {
  if (rows.length === 0) return "";
  const head = make("tr", ...heads.map((text) => make("th", text)));
  const body = rows.map((cells) => make("tr", ...cells.map((cell) => make("td", cell))));
  const whole = make("table", make("caption", caption), make("thead", head), make("tbody", ...body));
  whole.className = "fields";
  return whole;
}

/// The parts of a description. Any part may be a reference to another one.
class Description {
  constructor(spec) {
    this.spec = spec;
  }

  resolve(part) {
    if (!part?.$ref) return part ?? {};
    return part.$ref.split("/").slice(1).reduce((whole, name) => whole[name], this.spec);
  }

  typeOf(part) {
    const schema = this.resolve(part);
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices) return choices.map((choice) => this.typeOf(choice)).join(" or ");
    if (schema.enum) return schema.enum.filter((value) => value !== null && value !== "").map(String).join(", ");
    if (schema.type === "array") {
      const most = schema.maxItems === undefined ? "" : `at most ${schema.maxItems} `;
      return `list of ${most}${this.typeOf(schema.items)}`;
    }
    const most = schema.maxLength ?? schema.maximum;
    return most === undefined ? schema.type : `${schema.type} (at most ${most})`;
  }

  meaningOf(part) {
    const schema = this.resolve(part);
    const byDefault = schema.default === undefined ? "" : `default: ${schema.default}`;
    return [schema.description, byDefault].filter(Boolean).join("; ");
  }

  rowsOf(part) {
    const schema = this.resolve(part);
    return Object.entries(schema.properties ?? {}).map(([name, property]) => {
      const isRequired = schema.required?.includes(name) ?? false;
      return [make("code", name), this.typeOf(property), isRequired ? "yes" : "", this.meaningOf(property)];
    });
  }
}

function drawExample(title, example) {
  if (example === undefined) return [];
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 1);
  return [make("p", title), make("pre", text)];
}

function drawOperation(description, path, method, operation) {
  const body = operation.requestBody?.content?.["application/json"];
  const parameters = (operation.parameters ?? []).map((parameter) => [
    make("code", parameter.name), description.typeOf(parameter.schema), parameter.required ? "yes" : "",
    description.meaningOf(parameter.schema),
  ]);
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status, description.resolve(response).description ?? "",
  ]);
  const answer = description.resolve(operation.responses["200"]).content?.["application/json"];
  const section = make("section",
    make("h3", make("code", `${method.toUpperCase()} ${path}`)),
    make("p", `${operation.summary}.`),
    table("Fields", ["name", "value", "required", "meaning"], [...parameters, ...description.rowsOf(body?.schema)]),
    ...drawExample("Example of a request:", body?.example),
    table("Members of the answer", ["name", "value", "always", "meaning"], description.rowsOf(answer?.schema)),
    ...drawExample("Example of an answer:", answer?.example),
    table("Statuses", ["status", "meaning"], responses));
  section.id = operation.operationId;
  return section;
}

function drawTag(description, { name, description: text }) {
  const section = make("section", make("h2", name), make("p", `${text}.`));
  for (const [path, methods] of Object.entries(description.spec.paths)) {
    for (const method of kMethods.filter((each) => methods[each]?.tags.includes(name))) {
      section.append(drawOperation(description, path, method, methods[method]));
    }
  }
  section.id = name;
  return section;
}

async function draw() {
  const spec = await fetchJson("spec");
  const description = new Description(spec);
  place.append(...spec.tags.map((tag) => drawTag(description, tag)));
}

draw().catch((error) => place.append(make("p", `The description cannot be read: ${error.message}`)));
