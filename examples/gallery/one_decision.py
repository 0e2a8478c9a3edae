"""
Explaining one decision to the person concerned
===============================================

Somebody was refused and asks: why, and what can I do? Three answers, each computed from the model itself.
"""

import numpy as np
import pandas as pd

from glassleaf import ModelTreeClassifier, RowDisplay, counterfactuals, explain, reasons

# %%
# The model
# ---------
random = np.random.default_rng(0)
n = 4000
loans = pd.DataFrame(
    {
        "income": random.gamma(4.0, 1000.0, n).round(-1),
        "debt": random.gamma(2.0, 2000.0, n).round(-1),
        "age": random.integers(18, 80, n),
        "months_employed": random.integers(0, 240, n),
    }
)
risk = np.where(loans["age"] < 30, 0.6, 0.25) * loans["debt"] / 1000 - loans["income"] / 2000
risk -= np.minimum(loans["months_employed"], 36) / 30
outcome = np.where(risk + random.logistic(size=n) > 0, "default", "repaid")
model = ModelTreeClassifier(positive_class="default", max_numbers=11).fit(loans, outcome)
print(model.export_text().split("Features")[0])

# %%
# The person
# ----------
probability = pd.Series(
    model.predict_proba(loans)[:, 0], loans.index
)  # of "default", the first class
person = loans[(probability > 0.7) & (loans["age"] < 30)].iloc[[0]]
person.assign(probability=probability).round(2)

# %%
# First answer: which way the model took, and what added up to the score.
print(explain(model, person)[0].to_text())

# %%
RowDisplay.from_estimator(model, person, background=loans[:500])

# %%
# Second answer: the reasons, the worst first, and which value would have been neutral.
reasons(model, person, favorable="repaid").to_frame()

# %%
# Third answer: the smallest changes that would have changed the decision. The search is exact. Age cannot
# change, and months of employment can only grow.
answers = counterfactuals(
    model,
    person,
    "repaid",
    immutable=["age"],
    bounds={"months_employed": (float(person["months_employed"].iloc[0]), 120)},
)
for answer in answers:
    print(answer.text)

# %%
# In words for a letter
# ---------------------
worst = reasons(model, person, k=2, favorable="repaid")[0]
print("We could not grant the loan. What counted most against it:")
for reason in worst:
    print(f"  - {reason.text}")
print(f"It would have been granted with: {answers[0].text}.")
