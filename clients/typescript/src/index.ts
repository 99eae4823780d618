/** A typed client of Daybook: every path, parameter and body is of its OpenAPI document. */

import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];
export type Daybook = Client<paths>;

/** `daybook({ url: "http://127.0.0.1:8000" }).POST("/sessions/{key}/messages", ...)`; without keys none is sent. */
export function daybook(options: { url: string; key?: string | undefined }): Daybook {
  const headers = options.key ? { Authorization: `Bearer ${options.key}` } : {};
  return createClient<paths>({ baseUrl: options.url, headers });
}

/** What is wrong (RFC 9457), as the service says it: `problem.type` is stable, `problem.errors` names the fields. */
export class DaybookError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

/**
 * The body of an answer, where the request was not refused; else it throws what was wrong. An answer that is not the
 * service's, such as the page of a load balancer, is a problem of type `about:blank` with its status.
 */
export function body<Body>(answer: { data?: Body; error?: unknown; response: Response }): Body {
  if (answer.data !== undefined) return answer.data;
  const { error, response } = answer;
  if (error && typeof error === "object" && "detail" in error) throw new DaybookError(error as Problem);
  const { status, statusText: title } = response;
  throw new DaybookError({ type: "about:blank", title, status, detail: `the answer is a ${status} that says no more` });
}
