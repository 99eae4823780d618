// Swagger UI for the OpenAPI document, with the key that the console has in this tab.

import { key } from "./api.js";

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    if (key.get() && !request.headers.Authorization) request.headers.Authorization = `Bearer ${key.get()}`;
    return request;
  },
});
