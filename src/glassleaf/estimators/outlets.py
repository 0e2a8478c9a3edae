"""What a fitted estimator offers to production: its file, its scorer, its report."""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from glassleaf._version import __version__
from glassleaf.errors import ExportError
from glassleaf.explanations import words
from glassleaf.tree.complexity import count_numbers
from glassleaf.tree.file import model_file
from glassleaf.tree.file.atomic import write_atomically
from glassleaf.tree.file.serialize import plain_model, to_document
from glassleaf.tree.fitted import ModelOwner, NoCoefficientsError, fitted_model, linear_model
from glassleaf.tree.scorer import Scorer

if TYPE_CHECKING:
    from glassleaf.explanations.refits import LearningCurve, Optimism
    from glassleaf.explanations.stability import Stability
    from glassleaf.show.report import Report

_ESTIMATORS = ("ModelTreeRegressor", "ModelTreeClassifier")


def without_address(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters; the address of a cluster becomes "local".

    A file may come from anywhere, and a refit of its model must not connect to anyone.
    """
    backend = parameters.get("backend", "local")
    is_name = isinstance(backend, str) and backend.isidentifier()
    return {**parameters, "backend": backend if is_name else "local"}


class Deployable(ModelOwner):
    """Methods of the estimators that lead out of the notebook, and the drawing in it."""

    def _repr_html_inner(self) -> str:
        own: str = super()._repr_html_inner()  # type: ignore[misc]
        return self._page(own)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._page(bundle["text/html"])
        return bundle

    def _page(self, diagram: str) -> str:
        """The model first, scikit-learn's diagram folded; that alone where there is no model."""
        try:
            model = linear_model(self)
        except (NotFittedError, NoCoefficientsError):
            return diagram
        explanation = import_module("glassleaf.explanations.drawable").drawable(model)
        notebook = import_module("glassleaf.show.notebook")
        return str(notebook.page_html(explanation, self._summary(), diagram))

    def __str__(self) -> str:
        """The parameters and, of a fitted model, how large it is and how well it does."""
        try:
            fitted_model(self)
        except NotFittedError:
            return repr(self)
        return f"{self!r}\n{self._summary()}"

    def _summary(self) -> str:
        """Leaves, numbers and cross-validated score of the fitted model, as far as known."""
        model = self.model_
        n = model.tree.n_leaves
        parts = [f"{n:,} lea{'ves' if n > 1 else 'f'}"]
        if model.tree.custom is None:
            parts.append(f"{count_numbers(model.tree).total:,} numbers to read")
        parts.append(f"fitted on {int(model.tree.n_samples[0]):,} rows")
        explained = None if model.path is None else model.path.explained(model.tree)
        if explained is not None:
            parts.append(f"explains {words.percent(explained)} of the loss in cross-validation")
        return ", ".join(parts)

    def parameters_to_keep(self) -> dict[str, Any]:
        """The parameters that a file or a fitted model keeps: neither connection nor address."""
        stored: dict[str, Any] = self.__getstate__()  # type: ignore[assignment]
        return without_address({name: stored[name] for name in self.get_params(deep=False)})  # type: ignore[attr-defined]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, to be read by :func:`glassleaf.load`.

        The file is JSON: flat arrays and the estimator's parameters, no code. It is written whole
        or not at all.

        Parameters
        ----------
        path : str or path
            Usually ends in ``.json``. An existing file is replaced; a device or a named pipe is
            written to.
        """
        if type(self).__name__ not in _ESTIMATORS:
            raise ExportError(
                f"{type(self).__name__} is a class of your own, and the file could not say so."
                f" Only {' and '.join(_ESTIMATORS)} can be saved."
            )
        # Parameters as they are now: the user may have replaced one that no file can hold.
        model = replace(fitted_model(self), parameters=self.parameters_to_keep())
        written = to_document(model, f"glassleaf {__version__}")
        write_atomically(path, model_file.to_text(written).encode("ascii"))

    def scorer(self) -> Scorer:
        """A scorer for single rows, about as fast as Python allows.

        Returns
        -------
        Scorer
            Call it with one row, a sequence in the order of the columns or a mapping by name.
            It returns what ``predict`` (regressor, a float) or ``predict_proba`` (classifier, a
            list) would for that row.
        """
        model = replace(fitted_model(self), parameters=self.parameters_to_keep())
        return Scorer(plain_model(model))

    def report(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        title: str | None = None,
        date: str | datetime.date | None = None,
        seen: bool | Collection[str] = False,
        challenger: Any = None,
        optimism: Sequence[Optimism] = (),
        learning_curve: LearningCurve | None = None,
        inference: Any = None,
        stability: Stability | None = None,
    ) -> Report:
        """A report on this model: what it is, how well it does, and why it says what it says.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), or dict of name to sample
            Test rows: rows that the model was not fitted on (but see ``seen``). Several samples,
            each (X, y) or (X, y, sample_weight), such as ``{"development": (X, y), "out of time":
            (X2, y2)}``, stand side by side by their scores; all else is about the last one.
        y : array-like of shape (n_samples,)
            Their true values or labels; not for several samples.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each of them counts; rows of weight zero are left out.
        target : str or None, default=None
            What the true values are called; None: the name of ``y``, if it has one.
        title : str or None, default=None
            Stands on top; None: "Model report" and what the true values are called.
        date : date, str or None, default=None
            Stands in the footer; None: no date, so that the same model and rows give the same page.
        seen : bool or list of names, default=False
            Whether the model was fitted on these rows (of several samples: on which, or True for
            the last). The report then says so, and that its scores flatter the model, instead of
            calling them test rows. It notices by itself if they are exactly the rows of the fit,
            but not if they are a part of them.
        challenger : fitted estimator, default=None
            Another model, which is compared on the same rows; see :func:`glassleaf.compare`.
        optimism : from :func:`glassleaf.optimism`, default=()
        learning_curve : from :func:`glassleaf.learning_curve`, default=None
            What fitting again told; it has a part of its own.
        inference : pandas.DataFrame or None, default=None
            From :func:`glassleaf.inference`: the report then shows coefficients with intervals.
        stability : Stability or None, default=None
            What :func:`glassleaf.stability` found on the rows of the fit, for a part of its own.

        Returns
        -------
        Report
            ``.write("report.html")`` writes one self-contained page; ``.markdown()`` and
            ``.json()`` give text.
        """
        # Loaded when asked for: it needs scipy's distributions, which take their time.
        make_report = import_module("glassleaf.show.report").make_report
        settings = import_module("glassleaf.show.settings").changed_parameters(self)
        report: Report = make_report(
            linear_model(self), settings, X, y, sample_weight,
            target=target, title=title, date=date, seen=seen,
            challenger=challenger, optimism=optimism, learning_curve=learning_curve,
            inference=inference, stability=stability,
        )  # fmt: skip
        return report
