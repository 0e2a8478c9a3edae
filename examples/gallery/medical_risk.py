"""
Medical risk: intervals and a subgroup
======================================

442 patients with diabetes, ten measurements, and how far the disease had progressed a year later (the
table ships with scikit-learn). Few rows, much noise: the model should say how little it knows.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score, train_test_split

from glassleaf import CoefficientDisplay, ModelTreeRegressor, group_scores, inference

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = np.where(X["sex"] == 1, "one", "other")  # the table does not say which is which
X = X.rename(columns={"bp": "pressure", "s3": "hdl", "s5": "triglycerides", "s6": "glucose"}).drop(
    columns=["s1", "s2", "s4"]
)
train, test, y_train, y_test = train_test_split(X, y, random_state=1, test_size=0.4)

# %%
# Is there a subgroup?
# --------------------
# A split must be significant. Here none is: the honest answer is one formula for all patients.
model = ModelTreeRegressor().fit(train, y_train)
model

# %%
plain = LinearRegression()
numbers = X.drop(columns="sex").assign(is_one=X["sex"] == "one")
print(f"R² in cross-validation: {cross_val_score(plain, numbers, y).mean():.3f} linear regression,")
print(f"{cross_val_score(ModelTreeRegressor(), X, y).mean():.3f} glassleaf")

# %%
# The same question, asked of women and men: do the coefficients of body mass and pressure differ by sex?
# Only splits on that column are allowed, and the test says how likely such a difference is by chance.
asked = ModelTreeRegressor(split_features=["sex"], max_depth=1, significance=None, max_numbers=None)
asked.fit(X, y)
print(asked.export_text(max_terms=4).split("Features")[0])

# %%
# How certain are the coefficients?
# ---------------------------------
# With ``honest=0.5`` one half of the patients says which columns count, the other half says how much. The
# intervals then hold although the columns were chosen.
honest = ModelTreeRegressor(max_depth=0, honest=0.5, max_numbers=10).fit(X, y)
inference(honest, X, y).round(3)

# %%
CoefficientDisplay.from_estimator(honest, X, y)

# %%
# How certain is a prediction?
# ----------------------------
# Patients that the fit did not see say how far it is off.
half = len(test) // 2
model.calibrate(test[:half], y_test[:half])
found = model.predict_interval(test[half:], coverage=0.9)
low, high = found.T
print(
    f"mean width {np.mean(high - low):.0f}, where progression runs from {y.min():.0f} to {y.max():.0f}"
)
print(
    f"{np.mean((low <= y_test[half:]) & (y_test[half:] <= high)):.0%} of {len(found)} patients within"
)

# %%
# Does it serve both sexes alike?
group_scores(model, test, y_test, by="sex").to_frame()
